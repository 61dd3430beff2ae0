/* trace_write.c -- the complete log of events, written as the recording goes. Runs: in the
 * collector process, for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile/trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/wire.h"
#include "profile/columns.h"
#include "profile/trace_store.h"
#include "profile/write.h"

/* Level 1: the target may be waiting. Level 3 makes a trace 3 % smaller in 1.5 times the time. */
#define LEVEL 1
/* For the tables: 25 to 37 bytes a stack for git, Python and clang, names included. Where that is
 * too little after all, the trace gives back its end. */
#define TABLES	   (UINT64_C(16) << 10)
#define STACK	   UINT64_C(40)
#define STEP	   (UINT64_C(1) << 20) /* asked for at once: not for every block anew */
#define PART_LEAST 256		       /* events: fewer are not worth a section */

struct trace_writer {
	struct sink sink;
	int table_level;	    /* of zstd, for what follows the trace */
	struct trace_event *events; /* WIRE_BLOCK_ROWS of them: one block */
	size_t count;		    /* in the block */
	uint64_t written;	    /* in blocks before */
	uint64_t lost;
	uint64_t sites;	   /* of the events so far: the tables grow with them */
	uint64_t reserved; /* bytes of the file that the disk has room for */
	uint64_t ticks;	   /* of the last event */
	bool full;	   /* the disk is: nothing more goes into the trace */
	VEC(struct profile_block) index;
	VEC(uint64_t) ends; /* of blocks in the file */
};

struct trace_writer *trace_write_open(const char *path, struct error *e)
{
	struct trace_writer *w = mem_new(1, sizeof(*w));

	sink_open(&w->sink, path);
	if (!w->sink.error && !w->sink.name)
		w->sink.error = ESPIPE;
	if (w->sink.error) {
		errno = w->sink.error;
		(void)error_set_errno(e, "%s: cannot keep a trace there", path);
		sink_abandon(&w->sink);
		free(w);
		return NULL;
	}
	w->table_level = w->sink.level;
	w->sink.level = LEVEL;
	w->events = mem_new(WIRE_BLOCK_ROWS, sizeof(w->events[0]));
	return w;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* False if the disk has no room for so many bytes more. Where the file system cannot tell, it
 * has. */
static bool has_room(const struct trace_writer *w, uint64_t bytes)
{
	return fallocate(w->sink.fd, FALLOC_FL_KEEP_SIZE, (off_t)w->sink.bytes, (off_t)bytes) ==
		       0 ||
	       (errno != ENOSPC && errno != EDQUOT && errno != EFBIG);
}

/* Whether the disk gave its word for what the tables may need. It is asked for more, so that it
 * need not be asked for every block. */
static bool reserve(struct trace_writer *w)
{
	uint64_t ahead = TABLES + w->sites * STACK;
	uint64_t bytes = ahead + STEP;

	if (w->sink.bytes + ahead <= w->reserved)
		return true;
	if (!has_room(w, bytes))
		bytes = ahead;
	if (!has_room(w, bytes))
		return false;
	w->reserved = w->sink.bytes + bytes;
	return true;
}

/* Times that go back, which only a broken target makes, are held. */
static void look_over(struct trace_writer *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct trace_event *e = &w->events[i];
		if (e->time_ns < w->ticks)
			e->time_ns = w->ticks;
		w->ticks = e->time_ns;
		if (e->site >= w->sites)
			w->sites = e->site + UINT64_C(1);
	}
}

static bool is_out_of_space(const struct trace_writer *w)
{
	int error = w->sink.error;

	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/* Events of the block, from `first` on, as a section of its own; leaves the file as it was if there
 * is no room for them and the tables. */
static bool write_part(struct trace_writer *w, size_t first, size_t count)
{
	const struct codec_block block = {w->written, count};
	uint64_t bytes = w->sink.bytes;
	uint32_t sections = w->sink.sections;

	codec_put_block(&w->sink.raw, &columns_events, w->events + first, block);
	sink_write_section(&w->sink, WIRE_TAG_TRACE);
	if (w->sink.error || !reserve(w)) {
		w->full = w->sink.error && !is_out_of_space(w);
		sink_cut(&w->sink, bytes, sections);
		w->reserved = bytes;
		return false;
	}
	*vec_push(&w->index) = (struct profile_block){count, w->events[first].time_ns};
	*vec_push(&w->ends) = w->sink.bytes;
	w->written += count;
	return true;
}

/* Of a block that the disk has no room for, the first half is tried, and so on, until the room is
 * used up: on a small disk one block can be all there is. */
static void write_block(struct trace_writer *w)
{
	size_t done = 0;
	size_t count = w->count;

	look_over(w);
	while (count && !w->full) {
		if (write_part(w, done, count))
			done += count;
		else
			count = count > PART_LEAST ? count / 2 : 0;
		if (count > w->count - done)
			count = w->count - done;
	}
	w->lost += w->count - done;
	w->full = done < w->count;
}

static void flush(struct trace_writer *w)
{
	if (w->count && w->full)
		w->lost += w->count;
	else if (w->count)
		write_block(w);
	w->count = 0;
}

struct trace_event *trace_write_reserve(struct trace_writer *w)
{
	if (w->count == WIRE_BLOCK_ROWS)
		flush(w);
	return &w->events[w->count++];
}

uint64_t trace_write_get_count(const struct trace_writer *w)
{
	return w->written + w->lost + w->count;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void add_index(const struct trace_writer *w, struct profile *p)
{
	p->totals.trace_lost_events = w->lost;
	p->blocks.count = 0;
	for (size_t i = 0; i < w->index.count; i++)
		*vec_push(&p->blocks) = w->index.at[i];
}

static uint64_t get_end(const struct trace_writer *w)
{
	return w->ends.count ? w->ends.at[w->ends.count - 1] : WIRE_FILE_HEADER_BYTES;
}

/* The tables need room that the trace has taken: its last eighth goes. */
static void drop_blocks(struct trace_writer *w)
{
	uint64_t kept = get_end(w) / 8 * 7;

	while (w->index.count && get_end(w) > kept) {
		w->lost += w->index.at[--w->index.count].events;
		w->ends.count--;
	}
}

static void write_rest(struct trace_writer *w, struct profile *p)
{
	add_index(w, p);
	write_tables(&w->sink, p);
	sink_write_section(&w->sink, WIRE_TAG_END);
}

static void free_writer(struct trace_writer *w)
{
	vec_free(&w->index);
	vec_free(&w->ends);
	free(w->events);
	free(w);
}

int trace_write_close(struct trace_writer *w, struct profile *p, const char *path, struct error *e)
{
	flush(w);
	w->sink.level = w->table_level;
	write_rest(w, p);
	while (is_out_of_space(w) && w->index.count) {
		drop_blocks(w);
		sink_cut(&w->sink, get_end(w), (uint32_t)w->index.count);
		write_rest(w, p);
	}
	if (!w->sink.error)
		sink_cut(&w->sink, w->sink.bytes,
			 w->sink.sections); /* gives back what is reserved */
	int result = sink_close(&w->sink, path) ? error_set_errno(e, "%s", path) : 0;
	free_writer(w);
	return result;
}

void trace_write_abandon(struct trace_writer *w)
{
	if (!w)
		return;
	sink_abandon(&w->sink);
	free_writer(w);
}
