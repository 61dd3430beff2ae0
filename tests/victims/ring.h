/* ring.h -- requests of io_uring by bare system calls. For victims and test programs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_RING_H
#define MIDDEN_TESTS_RING_H

#if defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif
#endif
#ifdef IORING_FEAT_RW_CUR_POS /* Linux 5.6, with all that is asked for here */
#define HAS_RING 1
#endif

#ifdef HAS_RING

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_SETUP 425 /* numbers everywhere; old headers have none */
#define RING_ENTER 426

struct ring {
	int fd;
	struct io_uring_params p;
	char *submitted, *completed;
	struct io_uring_sqe *requests;
};

static inline char *ring_map(const struct ring *r, size_t bytes, uint64_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			(off_t)what);

	return at == MAP_FAILED ? NULL : at;
}

static inline bool ring_open(struct ring *r, unsigned entries)
{
	memset(r, 0, sizeof(*r));
	r->fd = (int)syscall(RING_SETUP, entries, &r->p);
	if (r->fd < 0)
		return false;
	r->submitted = ring_map(r, r->p.sq_off.array + r->p.sq_entries * sizeof(uint32_t),
				IORING_OFF_SQ_RING);
	r->completed = ring_map(r, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
				IORING_OFF_CQ_RING);
	r->requests =
		(void *)ring_map(r, r->p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	return r->submitted && r->completed && r->requests;
}

static inline uint32_t *ring_word(char *ring, uint32_t offset)
{
	return (uint32_t *)(void *)(ring + offset);
}

static inline bool ring_submit(struct ring *r, const struct io_uring_sqe *request)
{
	uint32_t *tail = ring_word(r->submitted, r->p.sq_off.tail);
	uint32_t at = *tail & (r->p.sq_entries - 1);

	r->requests[at] = *request;
	ring_word(r->submitted, r->p.sq_off.array)[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(RING_ENTER, r->fd, 1, 0, 0, NULL, 0) == 1;
}

/* The next one that is done, for which it does not wait. */
static inline bool ring_take(struct ring *r, struct io_uring_cqe *done)
{
	uint32_t *head = ring_word(r->completed, r->p.cq_off.head);
	const uint32_t *tail = ring_word(r->completed, r->p.cq_off.tail);
	const struct io_uring_cqe *all = (void *)(r->completed + r->p.cq_off.cqes);

	if (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		return false;
	*done = all[*head & (r->p.cq_entries - 1)];
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return true;
}

#endif
#endif
