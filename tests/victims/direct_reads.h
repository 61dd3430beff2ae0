/* direct_reads.h -- direct reads from a file that are under way all the time, into pages that are
 * written to meanwhile, and a check of each byte. For victims and test programs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_DIRECT_READS_H
#define MIDDEN_TESTS_DIRECT_READS_H

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

#define DIRECT_SLOTS 16u
#define SECTOR_BYTES 512u
#define SECTOR_WORDS (SECTOR_BYTES / 8)
#define SECTORS	     4096u
#define PAGE_WORDS   512u

/* A page: what is read lies in the middle of what the program writes to meanwhile. */
struct direct_page {
	uint64_t before[SECTOR_WORDS];
	uint64_t sector[SECTOR_WORDS];
	uint64_t behind[PAGE_WORDS - 2 * SECTOR_WORDS];
};

static struct {
	int file;
	struct direct_page *pages;
	uint32_t sectors[DIRECT_SLOTS]; /* that are being read */
	uint64_t stamp;
} direct;

static inline int direct_make_file(void)
{
	char path[] = "/var/tmp/midden-direct-XXXXXX";
	uint64_t words[SECTOR_WORDS];
	int fd = mkstemp(path);

	for (uint32_t i = 0; fd >= 0 && i < SECTORS; i++) {
		for (uint32_t k = 0; k < SECTOR_WORDS; k++)
			words[k] = (uint64_t)i << 32 | k;
		if (write(fd, words, sizeof(words)) != (ssize_t)sizeof(words))
			return -1;
	}
	if (fd < 0 || fsync(fd))
		return -1;
	int opened = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	(void)unlink(path);
	(void)close(fd);
	return opened;
}

static inline bool direct_prepare(void)
{
	void *at = mmap(NULL, DIRECT_SLOTS * sizeof(struct direct_page), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	direct.file = direct_make_file();
	direct.pages = at;
	return at != MAP_FAILED && direct.file >= 0 &&
	       pread(direct.file, direct.pages[0].sector, SECTOR_BYTES, 0) == SECTOR_BYTES;
}

static inline void direct_soil(uint32_t slot)
{
	memset(direct.pages[slot].sector, 0xee, SECTOR_BYTES);
	direct.sectors[slot] = (direct.sectors[slot] * 5 + slot * 2 + 1) % SECTORS;
}

static inline bool direct_has_arrived(uint32_t slot, int64_t result)
{
	bool arrived = result == SECTOR_BYTES;

	for (uint32_t k = 0; k < SECTOR_WORDS; k++)
		arrived &=
			direct.pages[slot].sector[k] == ((uint64_t)direct.sectors[slot] << 32 | k);
	return arrived;
}

/* Writes beside what is being read, and sees that it is there. */
static inline bool direct_write_beside(void)
{
	bool is_there = true;

	direct.stamp++;
	for (uint32_t i = 0; i < DIRECT_SLOTS; i++)
		direct.pages[i].before[0] = direct.pages[i].behind[0] = direct.stamp;
	for (uint32_t i = 0; i < DIRECT_SLOTS; i++)
		is_there &= direct.pages[i].before[0] == direct.stamp &&
			    direct.pages[i].behind[0] == direct.stamp;
	return is_there;
}

#ifdef HAS_RING

static inline bool direct_ask_ring(struct ring *r, uint32_t slot)
{
	struct io_uring_sqe request = {0};

	direct_soil(slot);
	request.opcode = IORING_OP_READ;
	request.fd = direct.file;
	request.addr = (uintptr_t)direct.pages[slot].sector;
	request.len = SECTOR_BYTES;
	request.off = (uint64_t)direct.sectors[slot] * SECTOR_BYTES;
	request.user_data = slot;
	return ring_submit(r, &request);
}

static inline bool direct_read_by_ring(bool (*goes_on)(void))
{
	struct ring r;
	struct io_uring_cqe done;
	bool good = direct_prepare() && ring_open(&r, DIRECT_SLOTS);

	for (uint32_t i = 0; good && i < DIRECT_SLOTS; i++)
		good = direct_ask_ring(&r, i);
	while (good && goes_on()) {
		good = direct_write_beside();
		while (good && ring_take(&r, &done)) {
			good = direct_has_arrived((uint32_t)done.user_data, done.res) &&
			       direct_ask_ring(&r, (uint32_t)done.user_data);
		}
	}
	return good;
}

#else

static inline bool direct_read_by_ring(bool (*goes_on)(void))
{
	(void)goes_on;
	return false;
}

#endif

static inline bool direct_ask_aio(aio_context_t aio, uint32_t slot)
{
	struct iocb request = {0}, *list[] = {&request};

	direct_soil(slot);
	request.aio_lio_opcode = IOCB_CMD_PREAD;
	request.aio_fildes = (uint32_t)direct.file;
	request.aio_buf = (uintptr_t)direct.pages[slot].sector;
	request.aio_nbytes = SECTOR_BYTES;
	request.aio_offset = (int64_t)direct.sectors[slot] * SECTOR_BYTES;
	request.aio_data = slot;
	return syscall(SYS_io_submit, aio, 1, list) == 1;
}

static inline bool direct_read_by_aio(bool (*goes_on)(void))
{
	struct io_event done;
	struct timespec at_once = {0};
	aio_context_t aio = 0;
	bool good = direct_prepare() && syscall(SYS_io_setup, DIRECT_SLOTS, &aio) == 0;

	for (uint32_t i = 0; good && i < DIRECT_SLOTS; i++)
		good = direct_ask_aio(aio, i);
	while (good && goes_on()) {
		good = direct_write_beside();
		while (good && syscall(SYS_io_getevents, aio, 0, 1, &done, &at_once) == 1) {
			good = direct_has_arrived((uint32_t)done.data, done.res) &&
			       direct_ask_aio(aio, (uint32_t)done.data);
		}
	}
	return good;
}

#endif
