/* steer.c -- recording as the program itself directs it, through include/midden/midden.h.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/hot.h"
#include "capture/light.h"
#include "capture/marks.h"
#include "capture/orders.h"
#include "capture/sampler.h"
#include "midden/midden.h"

#define EXPORT	   __attribute__((visibility("default")))

#define FIGURES_MS 30000 /* a collector may have much to catch up with */
#define WRITE_MS   90000 /* and it gives its copies a minute */

_Static_assert(sizeof(struct midden_figures) == SEGMENT_FIGURES * sizeof(uint64_t),
	       "the program's figures are those of the segment");
_Static_assert((int)MIDDEN_THIS_THREAD == (int)SEGMENT_SCOPE_THREAD, "scopes are the same");

static const char *const names[SEGMENT_FIGURES] = {
	"allocations",	 "frees",	  "allocated_bytes",
	"freed_bytes",	 "live_bytes",	  "live_blocks",
	"peak_bytes",	 "peak_blocks",	  "temporary_allocations",
	"reallocations", "foreign_frees", "untracked_frees",
	"threads",	 "stacks",	  "elapsed_ns",
};

static int put_order(uint32_t order, uint64_t first, uint64_t second)
{
	int saved = errno;
	bool done = orders_put(SEGMENT_EVENT_ORDER, order, (uint64_t[]){first, second, 0});

	errno = saved;
	return done ? 0 : -1;
}

/* In tag mode: there is nothing to switch, as counting goes on, and no stack. */
static bool is_counting_only(void)
{
	return process && atomic_load(&process->state) == PROCESS_RECORDING &&
	       process->mode == SEGMENT_MODE_TAGS;
}

/* What the thread has done until now goes ahead of an order that makes a difference to it. */
static void put_totals(void)
{
	uint64_t words[SEGMENT_TOTALS] = {0};
	int saved = errno;

	if (light_pack_totals(words))
		(void)orders_put_text((const char *)words, sizeof(words));
	errno = saved;
}

/* ---- switches -------------------------------------------------------------------------------- */

/* The switch is turned between stamp and publication: from then on nobody misses what the collector
 * counts, and what is too much it drops. */
EXPORT int midden_set_recording(int on, int scope)
{
	if (is_counting_only())
		return -1;
	put_totals();
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return -1;
	uint64_t *at = t->pos;
	at[0] = hot_word(t, SEGMENT_EVENT_ORDER, SEGMENT_ORDER_SWITCH);
	at[1] = !on;
	at[2] = scope == MIDDEN_THIS_THREAD ? SEGMENT_SCOPE_THREAD : SEGMENT_SCOPE_ALL;
	at[3] = 0;
	uint64_t word = at[0] >> 8 << 1 | !on;
	if (on) /* before anything that others could free is recorded */
		atomic_store_explicit(&process->has_begun, 1, memory_order_release);
	if (scope == MIDDEN_THIS_THREAD)
		t->switch_word = word;
	else
		gate_switch(word);
	gate_update(t);
	hot_publish(t, at + 4);
	hot_leave(t);
	return 0;
}

EXPORT int midden_is_recording(void)
{
	return process && atomic_load(&process->state) == PROCESS_RECORDING &&
	       gate_is_on(thread_self);
}

EXPORT int midden_set_stack_threshold(uint64_t bytes, int direction)
{
	if (is_counting_only())
		return -1;
	uint64_t most = bytes > UINT64_MAX >> 1 ? UINT64_MAX >> 1 : bytes;
	uint64_t threshold = most << 1 | (direction == MIDDEN_AT_MOST);
	int result = put_order(SEGMENT_ORDER_THRESHOLD, threshold, 0);
	struct thread *t = hot_enter(); /* so that its gate is not changed under a handler */

	if (t) {
		atomic_store_explicit(&process->threshold, threshold, memory_order_relaxed);
		gate_update(t);
		hot_leave(t);
	}
	return result;
}

EXPORT int midden_set_sample_period(uint64_t bytes)
{
	if (!midden_is_recording() || process->mode != SEGMENT_MODE_SAMPLE)
		return -1;
	sampler_set_period(bytes);
	return 0;
}

/* ---- orders ---------------------------------------------------------------------------------- */

EXPORT int midden_clear_figures(void)
{
	if (!is_counting_only()) {
		put_totals();
		return put_order(SEGMENT_ORDER_CLEAR, 0, 0);
	}
	int saved = errno;
	uint32_t number = marks_number();
	int result = put_order(SEGMENT_ORDER_CLEAR, 0, 0);
	if (result == 0)
		marks_await(number);
	errno = saved;
	return result;
}

EXPORT int midden_set_thread_name(const char *name)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return -1;
	thread_set_name(t, name);
	hot_leave(t);
	return 0;
}

/* The collector has a working directory of its own. */
static size_t make_absolute(char *to, size_t room, const char *path)
{
	size_t used = 0, bytes = strlen(path);

	to[0] = '\0';
	if (*path != '/') {
		long got = HOST_CALL2(SYS_getcwd, to, room);

		if (got < 2 || to[0] != '/')
			return 0;
		used = (size_t)got - 1;
		to[used++] = '/';
	}
	if (used + bytes >= room)
		return 0;
	memcpy(to + used, path, bytes + 1);
	return used + bytes;
}

EXPORT int midden_write_profile(const char *path)
{
	char absolute[SEGMENT_TEXT_MAX + 1];
	size_t bytes = path && *path ? make_absolute(absolute, sizeof(absolute), path) : 0;
	uint64_t question = orders_get_question();
	int saved = errno;

	bool done = bytes && question && orders_put_text(absolute, bytes) &&
		    put_order(SEGMENT_ORDER_WRITE, question, 0) == 0 &&
		    orders_await(question, WRITE_MS, NULL);
	errno = saved;
	return done ? 0 : -1;
}

/* ---- figures --------------------------------------------------------------------------------- */

static bool ask(uint64_t figures[SEGMENT_FIGURES], uint64_t scope)
{
	int saved = errno;
	uint64_t question = orders_get_question();
	uint64_t words[SEGMENT_TOTALS];

	(void)light_pack_totals(words); /* so that they are shown */
	bool done = question && put_order(SEGMENT_ORDER_ASK, question, scope) == 0 &&
		    orders_await(question, FIGURES_MS, figures);

	errno = saved;
	return done;
}

/* A program may have been built with another header: it gets what it has room for. */
EXPORT int midden_read_figures(struct midden_figures *figures, uint64_t bytes, int scope)
{
	uint64_t got[SEGMENT_FIGURES] = {0};

	if (!figures ||
	    !ask(got, scope == MIDDEN_THIS_THREAD ? SEGMENT_SCOPE_THREAD : SEGMENT_SCOPE_ALL))
		return -1;
	memcpy(figures, got, bytes < sizeof(got) ? (size_t)bytes : sizeof(got));
	return 0;
}

/* The first two numbers of /proc/self/statm, in pages. */
EXPORT int midden_read_memory(uint64_t *vm_size_bytes, uint64_t *vm_rss_bytes)
{
	uint64_t pages[2] = {0}, page = getauxval(AT_PAGESZ);
	char text[128] = "";
	long fd = HOST_CALL4(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	long got = fd < 0 ? fd : HOST_CALL3(SYS_read, fd, text, sizeof(text) - 1);

	if (fd >= 0)
		(void)host_close((int)fd);
	if (got <= 0)
		return -1;
	for (const char *at = text, *last = text; *at && last - text < 2; at++) {
		if (*at >= '0' && *at <= '9')
			pages[last - text] = pages[last - text] * 10 + (uint64_t)(*at - '0');
		else
			last++;
	}
	*vm_size_bytes = pages[0] * page;
	*vm_rss_bytes = pages[1] * page;
	return 0;
}

static void list_scope(midden_visitor *visit, void *context, const char *prefix,
		       const uint64_t figures[SEGMENT_FIGURES])
{
	char name[64];

	for (unsigned i = 0; i < SEGMENT_FIGURES; i++) {
		strcpy(name, prefix);			 /* NOLINT: both are ours, and short */
		strcpy(name + strlen(prefix), names[i]); /* NOLINT */
		visit(context, name, figures[i]);
	}
}

EXPORT int midden_list_figures(midden_visitor *visit, void *context)
{
	uint64_t all[SEGMENT_FIGURES], own[SEGMENT_FIGURES], size, rss;

	if (!ask(all, SEGMENT_SCOPE_ALL) || !ask(own, SEGMENT_SCOPE_THREAD))
		return -1;
	list_scope(visit, context, "", all);
	list_scope(visit, context, "thread.", own);
	if (midden_read_memory(&size, &rss) == 0) {
		visit(context, "vm_size_bytes", size);
		visit(context, "vm_rss_bytes", rss);
	}
	return 0;
}
