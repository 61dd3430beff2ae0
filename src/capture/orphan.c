/* orphan.c -- a fork child that goes on inside a hook of its parent's.
 * Runs: in the fork wrapper, and in the child until the hook has come to its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/orphan.h"

#include <string.h>
#include <sys/mman.h>

#include "capture/host.h"
#include "capture/thread.h"

struct orphan {
	size_t bytes; /* of the whole copy */
	struct process process;
	struct thread *thread; /* where the state belongs */
	uint64_t state[];      /* the thread with all its arrays */
};

static _Thread_local bool forking __attribute__((tls_model("initial-exec")));

bool orphan_is_forking(void)
{
	return forking;
}

struct orphan *orphan_prepare(void)
{
	struct thread *t = thread_self;

	if (forking || t->state != THREAD_READY || !thread_is_busy(t))
		return NULL;
	size_t bytes = sizeof(struct orphan) + process->thread_bytes;
	struct orphan *copy = host_map(bytes);
	if (!copy)
		return NULL;
	copy->bytes = bytes;
	copy->process = *process;
	copy->thread = t;
	memcpy(copy->state, t, process->thread_bytes);
	forking = true;
	return copy;
}

void orphan_drop(struct orphan *copy)
{
	if (!copy)
		return;
	forking = false;
	(void)HOST_CALL2(SYS_munmap, copy, copy->bytes);
}

void orphan_adopt(struct orphan *copy, void *segment, uint64_t bytes)
{
	struct thread *t = copy->thread;

	(void)HOST_CALL6(SYS_mmap, segment, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	*process = copy->process;
	memcpy(t, copy->state, process->thread_bytes);
	process->pid = host_getpid();
	atomic_store(&process->state, PROCESS_OFF); /* no thread may attach, no refill wait */
	t->state = THREAD_ORPHAN;
	/* When the hook is left, limit becomes LEFT, or what chunk_limit was if that had been read
	 * already; pos is less than neither. */
	t->pos = t->chunk_end;
	t->chunk_limit = THREAD_ORPHAN_LEFT;
	t->allowance = t->sampler.masked = 0;
	orphan_drop(copy);
}
