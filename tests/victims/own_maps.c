/* own_maps.c -- maps memory in all ways there are; what it makes is known to the byte.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: own_maps FILE     (FILE is made, of 8 pages)
 *
 * In pages of P bytes; the break and no other in bytes. Each function is a site of its own:
 *   plain      maps 16, unmaps the middle 4 and then the first 2: 10 are left, of one map
 *   grown      maps 4, grows them to 12 (may move), shrinks them to 6: two remaps, 6 left
 *   moved      maps 3, moves them over a reservation of 3 that `reserved` made: 3 left, one remap
 *   reserved   PROT_NONE 3 (goes when `moved` comes) and 20: 20 left
 *   replaced   maps 8, then 2 of them anew with MAP_FIXED: 8 left, of two maps
 *   file       maps 8 of the file privately, unmaps 8; maps 5 shared: 5 left
 *   shared     attaches 7 and detaches them, attaches 7: 7 left
 *   heap       sbrk 10000, sbrk -4000, brk up by 1000: 7000 bytes left
 *   threads    4 threads, each 100 times: map 2, unmap 2; nothing left
 *   failing    five calls that fail: mmap of 0, of a bad descriptor, mremap of nothing, a senseless
 *              munmap (which counts nowhere), shmat of no segment; an sbrk of far too much */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	100

static size_t page;

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(3);
}

static char *map_pages(size_t pages, int protection)
{
	char *at = mmap(NULL, pages * page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "mmap");
	return at;
}

#define READ_WRITE (PROT_READ | PROT_WRITE)

/* A length that is not whole pages counts as the pages that it takes. */
static void plain(void)
{
	char *at = mmap(NULL, 15 * page + 1, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "plain");
	check(munmap(at + 6 * page, 3 * page + 1) == 0, "unmap the middle");
	check(munmap(at, 2 * page) == 0, "unmap the start");
}

static void grown(void)
{
	char *at = map_pages(4, READ_WRITE);

	at = mremap(at, 4 * page, 12 * page, MREMAP_MAYMOVE);
	check(at != MAP_FAILED, "grow");
	check(mremap(at, 12 * page, 6 * page, 0) == at, "shrink");
}

static char *reserved(void)
{
	(void)map_pages(20, PROT_NONE);
	return map_pages(3, PROT_NONE);
}

static void moved(void)
{
	char *to = reserved();
	char *at = map_pages(3, READ_WRITE);

	check(mremap(at, 3 * page, 3 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "move");
}

static void replaced(void)
{
	char *at = map_pages(8, READ_WRITE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	check(mmap(at + 2 * page, 2 * page, READ_WRITE, flags, -1, 0) == at + 2 * page, "replace");
}

static void file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && ftruncate(fd, (off_t)(8 * page)) == 0, path);
	char *at = mmap(NULL, 8 * page, PROT_READ, MAP_PRIVATE, fd, 0);
	check(at != MAP_FAILED && munmap(at, 8 * page) == 0, "private file");
	check(mmap(NULL, 5 * page, READ_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED, "shared file");
	close(fd);
}

static void shared(void)
{
	int id = shmget(IPC_PRIVATE, 7 * page, IPC_CREAT | 0600);
	void *at = shmat(id, NULL, 0);

	check(id >= 0 && at != (void *)-1 && shmdt(at) == 0, "shmat");
	check(shmat(id, NULL, 0) != (void *)-1, "shmat again");
	shmctl(id, IPC_RMID, NULL);
}

static void heap(void)
{
	check(sbrk(10000) != (void *)-1 && sbrk(-4000) != (void *)-1, "sbrk");
	check(brk((char *)sbrk(0) + 1000) == 0, "brk");
}

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++)
		check(munmap(map_pages(2, READ_WRITE), 2 * page) == 0, "thread");
	return argument;
}

static void threads(void)
{
	pthread_t all[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&all[i], NULL, work, NULL) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
}

static void failing(void)
{
	char *nothing = (char *)(page * 3);

	check(mmap(NULL, 0, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "0");
	check(mmap(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED, "no file");
	check(mremap(nothing, page, 2 * page, 0) == MAP_FAILED, "remap nothing");
	check(munmap(nothing + 1, page) != 0, "senseless");
	check(shmat(-1, NULL, 0) == (void *)-1, "no segment");
	check(sbrk((intptr_t)1 << 46) == (void *)-1, "sbrk too much");
}

int main(int argc, char **argv)
{
	check(argc == 2, "usage: own_maps FILE");
	page = (size_t)sysconf(_SC_PAGESIZE);
	plain();
	grown();
	moved();
	replaced();
	file(argv[1]);
	shared();
	heap();
	threads();
	failing();
	return 0;
}
