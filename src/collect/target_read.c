/* target_read.c -- pieces of another process's memory.
 * Runs: in the collector process, on any of its threads.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/target_read.h"

#include <errno.h>
#include <string.h>

#define PAGE_BYTES 4096u /* none is smaller: what to leave out where one is missing */

/* What is left of a list of pieces. */
struct list {
	struct iovec *at;
	size_t count;
	char *to;
};

static void skip(struct list *l, size_t bytes)
{
	l->to += bytes;
	for (; l->count && bytes >= l->at->iov_len; l->count--)
		bytes -= l->at++->iov_len;
	if (!bytes)
		return;
	l->at->iov_base = (char *)l->at->iov_base + bytes;
	l->at->iov_len -= bytes;
}

static size_t add_up(const struct list *l)
{
	size_t bytes = 0;

	for (size_t i = 0; i < l->count && i < TARGET_PIECES_MOST; i++)
		bytes += l->at[i].iov_len;
	return bytes;
}

/* To the end of the page that cannot be had, or of all if nothing can. */
static size_t measure_gap(const struct list *l, int why)
{
	size_t to_end = PAGE_BYTES - (uintptr_t)l->at->iov_base % PAGE_BYTES;

	if (why == EPERM || why == ESRCH)
		return add_up(l);
	return to_end < l->at->iov_len ? to_end : l->at->iov_len;
}

void target_read_pieces(pid_t pid, struct iovec *pieces, size_t count, void *to,
			struct target_tally *tally)
{
	struct list l = {pieces, count, to};

	while (l.count) {
		struct iovec local = {.iov_base = l.to, .iov_len = add_up(&l)};
		size_t most = l.count < TARGET_PIECES_MOST ? l.count : TARGET_PIECES_MOST;
		ssize_t got = process_vm_readv(pid, &local, 1, l.at, most, 0);

		if (got > 0) {
			tally->read_bytes += (uint64_t)got;
			skip(&l, (size_t)got);
			continue;
		}
		int why = got < 0 ? errno : EFAULT;
		size_t gap = measure_gap(&l, why);

		tally->is_denied |= why == EPERM;
		tally->unread_bytes += gap;
		memset(l.to, 0, gap);
		skip(&l, gap);
	}
}
