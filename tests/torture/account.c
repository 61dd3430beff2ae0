/* account.c -- the program's own account of its heap, in a file mapped shared.
 * Runs: any thread of the torture program, signal handlers too: atomics alone, no allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "torture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct page *account_page;
struct image *account_image;

/* The block allocated last, and what is live: for a calm image, which has one thread. */
static const void *last;
static uint64_t live_bytes, live_blocks;

bool account_has_room(void)
{
	return atomic_load(&account_page->images_used) < IMAGES - THREADS_MOST;
}

/* Some are left for execs, which take the next one whatever comes. */
bool account_reserve_image(uint64_t *index)
{
	*index = atomic_load(&account_page->images_used);
	while (*index < IMAGES - THREADS_MOST)
		if (atomic_compare_exchange_weak(&account_page->images_used, index, *index + 1))
			return true;
	return false;
}

void account_use_image(uint64_t index)
{
	account_image = &account_page->image[index];
	atomic_store(&account_image->pid, (uint64_t)getpid());
	atomic_store(&account_image->planned_end, END_NOT_PLANNED);
	last = NULL;
	live_bytes = live_blocks = 0;
}

static bool take_next_image(void)
{
	uint64_t index = atomic_fetch_add(&account_page->images_used, 1);

	if (index >= IMAGES)
		return false;
	account_use_image(index);
	return true;
}

bool account_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(struct page)) != 0)
		return false;
	void *map = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	account_page = map;
	return take_next_image();
}

void account_begin(unsigned site, size_t bytes)
{
	struct site_account *account = &account_image->site[site];

	count_begin(&account->allocations, 1);
	count_begin(&account->allocated_bytes, bytes);
}

static void note_peak(const void *block, size_t bytes)
{
	last = block;
	live_bytes += bytes;
	live_blocks++;
	if (live_bytes <= atomic_load(&account_image->peak_bytes))
		return;
	atomic_store(&account_image->peak_bytes, live_bytes);
	atomic_store(&account_image->peak_blocks, live_blocks);
}

void account_got(unsigned site, const void *block, size_t bytes)
{
	struct site_account *account = &account_image->site[site];

	if (!block) { /* it was not to be: nothing had begun */
		atomic_fetch_sub(&account->allocations.begun, 1);
		atomic_fetch_sub(&account->allocated_bytes.begun, bytes);
		return;
	}
	count_end(&account->allocations, 1);
	count_end(&account->allocated_bytes, bytes);
	if (habits.calm)
		note_peak(block, bytes);
}

void account_note_temporary(const void *block)
{
	if (last == block) {
		atomic_fetch_add(&account_image->temporary, 1);
		last = NULL;
	}
}

void account_gone_begin(unsigned site, size_t bytes)
{
	struct site_account *account = &account_image->site[site];

	count_begin(&account->frees, 1);
	count_begin(&account->freed_bytes, bytes);
	if (habits.calm) {
		live_bytes -= bytes;
		live_blocks--;
	}
}

void account_gone_end(unsigned site, size_t bytes)
{
	struct site_account *account = &account_image->site[site];

	count_end(&account->frees, 1);
	count_end(&account->freed_bytes, bytes);
}

/* Splitmix64: every seed is as good as any other. */
uint64_t chance_next(struct chance *chance)
{
	uint64_t z = chance->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
