/* fixture.h -- profiles with something in every field, and files to put them in.
 * Runs: in unit tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_PROFILE_FIXTURE_H
#define MIDDEN_TESTS_PROFILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/profile.h"

/* ---- random numbers: the same ones in every run ---------------------------------------------- */

static uint64_t fixture_state = 1;

static inline uint64_t fixture_random(void)
{
	fixture_state ^= fixture_state << 13;
	fixture_state ^= fixture_state >> 7;
	fixture_state ^= fixture_state << 17;
	return fixture_state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t fixture_below(size_t limit)
{
	return (uint32_t)(fixture_random() % limit);
}

/* Any width from 0 to 64 bits, so that every varint length occurs. */
static inline uint64_t fixture_number(void)
{
	unsigned bits = fixture_below(65);

	return bits ? fixture_random() >> (64 - bits) : 0;
}

/* Fills a structure of 64-bit members. */
static inline void fixture_fill(void *at, size_t bytes)
{
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t value = fixture_number();
		memcpy((char *)at + i, &value, 8);
	}
}

/* ---- a profile ------------------------------------------------------------------------------- */

struct fixture_size {
	size_t modules, nodes, frames, sites, threads, points, changes, parts;
};

static inline struct string_id fixture_string(struct profile *p)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "name-%u", fixture_below(100000));
	return profile_add_string(p, text);
}

static inline void fixture_add_run(struct profile *p)
{
	struct profile_run *run = &p->run;

	run->program = profile_add_string(p, "app");
	run->executable = profile_add_string(p, "/opt/app/bin/app");
	run->command = profile_add_string(p, "./app --fast 'two words'");
	run->directory = profile_add_string(p, "/opt/app");
	run->host = profile_add_string(p, "node17");
	run->mode = profile_add_string(p, "exact");
	run->machine = profile_add_string(p, "aarch64");
	run->version = profile_add_string(p, "0.1.0");
	run->start_unix_ns = UINT64_C(1700000000123456789);
	run->duration_ns = UINT64_C(98765432100);
	run->page_bytes = 65536;
	run->pid = 4242;
	run->parent_pid = UINT32_MAX;
	run->end = PROFILE_END_SIGNALED;
	run->exit_code = -1;
	run->exit_signal = 11;
	run->children_not_recorded = 3;
	run->clock_ticks = 1;
	run->clock_ns = 1;
}

static inline void fixture_add_modules(struct profile *p, size_t count)
{
	while (p->modules.count < count) {
		struct profile_module *m = vec_push(&p->modules);
		memset(m, 0, sizeof(*m));
		m->path = fixture_string(p);
		m->bias = fixture_random();
		m->map_start = fixture_random();
		m->map_end = UINT64_MAX - fixture_below(100);
		m->load_time_ns = fixture_number();
		m->build_id_bytes = fixture_below(33);
		for (size_t i = 0; i < m->build_id_bytes; i++)
			m->build_id[i] = (uint8_t)fixture_random();
	}
}

static inline void fixture_add_nodes(struct profile *p, size_t count, size_t frames)
{
	while (p->nodes.count < count) {
		uint32_t parent = fixture_below(p->nodes.count);
		struct profile_node *n = vec_push(&p->nodes);
		memset(n, 0, sizeof(*n));
		n->parent = parent;
		n->frames = fixture_below(frames ? frames : 1);
		if (fixture_below(8) == 0) {
			n->named = 1 + fixture_below(3);
			continue;
		}
		n->pc = UINT64_C(0x7f0000000000) + fixture_number() % (UINT64_C(1) << 40);
		n->module = fixture_below(p->modules.count);
		n->exact = fixture_below(16) == 0;
		n->cut = fixture_below(64) == 0;
	}
}

static inline void fixture_add_frames(struct profile *p, size_t count)
{
	while (p->frames.count < count) {
		uint32_t next = fixture_below(p->frames.count);
		struct string_id function = fixture_string(p);
		struct string_id file = fixture_string(p);
		*vec_push(&p->frames) =
			(struct profile_frame){function, file, fixture_below(5000), next};
	}
}

static inline void fixture_add_sites(struct profile *p, size_t count)
{
	while (p->sites.count < count) {
		struct profile_site *s = vec_push(&p->sites);
		memset(s, 0, sizeof(*s));
		fixture_fill(&s->allocations,
			     sizeof(*s) - offsetof(struct profile_site, allocations));
		s->node = fixture_below(p->nodes.count);
		s->thread = fixture_below(200);
		s->lifetime_min_ns = UINT64_MAX;
	}
}

static inline void fixture_add_threads(struct profile *p, size_t count)
{
	while (p->threads.count < count) {
		struct string_id name = fixture_string(p);
		struct profile_thread *t = vec_push(&p->threads);
		memset(t, 0, sizeof(*t));
		fixture_fill(&t->start_ns, sizeof(*t) - offsetof(struct profile_thread, start_ns));
		t->tid = (uint32_t)fixture_random();
		t->serial = (uint32_t)p->threads.count;
		t->name = name;
		t->end_ns = UINT64_MAX;
	}
}

/* Some threads of every third site or so. */
static inline void fixture_add_parts(struct profile *p, size_t count)
{
	uint32_t site = 0, thread = 0;

	while (p->parts.count < count) {
		uint32_t step = fixture_below(3);
		site += step;
		thread = step ? fixture_below(5) : thread + 1 + fixture_below(9);
		if (site >= p->sites.count)
			return;
		struct profile_part *part = vec_push(&p->parts);
		fixture_fill(&part->allocations,
			     sizeof(*part) - offsetof(struct profile_part, allocations));
		part->site = site;
		part->thread = thread;
	}
}

/* Their names are old ones, so that those of frames stay the last in the table. */
static inline void fixture_add_snapshots(struct profile *p)
{
	for (uint32_t point = 1; point < p->points.count; point += 3) {
		struct profile_snapshot *s = vec_push(&p->snapshots);
		memset(s, 0, sizeof(*s));
		s->name = p->run.host;
		s->point = point;
		s->thread = fixture_below(9);
		s->time_ns = fixture_number();
		s->live_bytes = fixture_number();
		s->live_blocks = fixture_number();
	}
}

/* A look at a snapshot and one at the end, three sites, two cells and two types each. */
static inline void fixture_add_surveys(struct profile *p)
{
	for (uint32_t i = 0; p->snapshots.count && p->sites.count > 2 && i < 2; i++) {
		struct profile_survey *s = vec_push(&p->surveys);
		memset(s, 0, sizeof(*s));
		s->reason = i ? PROFILE_REASON_END : PROFILE_REASON_SNAPSHOT;
		s->snapshot = i ? 0 : 1;
		s->fault = p->run.host;
		for (uint64_t *at = &s->time_ns; at <= &s->lone_pages; at++)
			*at = fixture_number();
		for (uint32_t site = 0; site < 3; site++) {
			struct profile_pin *pin = vec_push(&p->pins);
			memset(pin, 0, sizeof(*pin));
			pin->survey = i;
			pin->site = site;
			for (uint64_t *at = &pin->live_blocks; at <= &pin->sole_bytes; at++)
				*at = fixture_number();
		}
		for (uint32_t cell = 0; cell < 2; cell++) {
			struct profile_cell *c = vec_push(&p->cells);
			memset(c, 0, sizeof(*c));
			*c = (struct profile_cell){i, 8, 7 - cell, 3, cell, 4096 + cell * 32768u,
						   9};
		}
		for (uint32_t type = 0; type < 2; type++) {
			struct profile_type *t = vec_push(&p->types);
			memset(t, 0, sizeof(*t));
			t->survey = i;
			t->name = p->run.host;
			for (uint64_t *at = &t->objects; at <= &t->bytes_deviation; at++)
				*at = fixture_number();
		}
	}
}

/* The deepest stacks of two threads. */
static inline void fixture_add_depths(struct profile *p)
{
	for (uint32_t i = 0; i < 4 && p->nodes.count > 1; i++)
		*vec_push(&p->depths) =
			(struct profile_depth){.thread = 1 + i / 2, .node = 1, .bytes = 4096u + i};
}

/* Two extents of an object, and three variables. */
static inline void fixture_add_variables(struct profile *p)
{
	uint32_t module = (uint32_t)p->modules.count - 1;

	for (uint32_t i = 0; i < 2; i++) {
		struct profile_extent *x = vec_push(&p->extents);
		memset(x, 0, sizeof(*x));
		x->module = module;
		x->start = 65536 + i * 16384u;
		x->bytes = 4096 + i * 4096u;
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct profile_variable *v = vec_push(&p->variables);
		memset(v, 0, sizeof(*v));
		v->name = p->run.host;
		v->section = p->run.program;
		v->file = p->run.command;
		v->line = i;
		v->module = module;
		v->count = 1 + i;
		v->is_thread_local = i == 2;
		v->address = 65536 + i;
		v->size_bytes = 9000 - i;
		v->resident_bytes = i;
	}
}

/* Two trees, at the end and at a snapshot. */
static inline void fixture_add_maps(struct profile *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_site *kind = vec_push(&p->map_kinds);
		memset(kind, 0, sizeof(*kind));
		fixture_fill(&kind->allocations,
			     sizeof(*kind) - offsetof(struct profile_site, allocations));
		kind->kind = i;
		struct profile_site *site = vec_push(&p->map_sites);
		*site = *kind;
		site->node = fixture_below(p->nodes.count);
	}
	fixture_fill(&p->map_totals, sizeof(p->map_totals));
}

static inline void fixture_add_tags(struct profile *p)
{
	for (uint32_t i = 0; p->snapshots.count && i < 8; i++) {
		struct profile_tag *tag = vec_push(&p->tags);
		memset(tag, 0, sizeof(*tag));
		tag->snapshot = i / 4;
		tag->thread = 1 + i / 2 % 2;
		tag->parent = i % 2 ? i : 0;
		tag->name = p->run.host;
		tag->open = fixture_below(3);
		tag->entered = fixture_number();
		tag->requested_bytes = fixture_number();
		tag->allocated_bytes = fixture_number();
		tag->freed_bytes = fixture_number();
		tag->frees = fixture_number();
		tag->resizes = fixture_number();
		for (unsigned k = 0; k < PROFILE_APIS; k++)
			tag->calls[k] = fixture_number();
	}
}

static inline void fixture_add_time_line(struct profile *p, size_t points, size_t changes)
{
	for (uint64_t time_ns = 0; p->points.count < points; time_ns += fixture_below(1000000)) {
		struct profile_point *point = vec_push(&p->points);
		fixture_fill(point, sizeof(*point));
		point->time_ns = time_ns;
		point->events = p->points.count * 1000;
	}
	size_t steps = points * p->sites.count / (changes + 1) + 1;
	for (size_t at = 0; p->changes.count < changes; at += 1 + fixture_below(steps)) {
		if (at >= points * p->sites.count)
			return;
		*vec_push(&p->changes) = (struct profile_change){
			(uint32_t)(at / p->sites.count), (uint32_t)(at % p->sites.count),
			fixture_number(), fixture_number()};
	}
}

/* As if the profile had been merged from several. */
static inline void fixture_add_inputs(struct profile *p, size_t count)
{
	p->run.merge = PROFILE_MERGE_SUM;
	while (p->inputs.count < count) {
		struct profile_input *in = vec_push(&p->inputs);
		memset(in, 0, sizeof(*in));
		fixture_fill(&in->totals, sizeof(in->totals));
		in->name = fixture_string(p);
		in->program = p->run.program;
		in->command = p->run.command;
		in->host = fixture_string(p);
		in->start_unix_ns = fixture_number();
		in->duration_ns = fixture_number();
		in->pid = (uint32_t)fixture_random();
		in->parent_pid = 1;
		in->end = PROFILE_END_SIGNALED;
		in->exit_code = -1;
		in->exit_signal = 9;
	}
	for (size_t i = 0; i < p->threads.count; i++)
		p->threads.at[i].input = (uint32_t)(i % (count + 1));
}

/* Counts of modules, nodes and frames include the element 0. */
static inline struct profile *fixture_profile(uint64_t seed, const struct fixture_size *size)
{
	struct profile *p = profile_new();

	fixture_state = seed * 2 + 1;
	fixture_add_run(p);
	fixture_fill(&p->totals, sizeof(p->totals));
	fixture_fill(p->sizes, sizeof(p->sizes));
	fixture_fill(p->size_by_life, sizeof(p->size_by_life));
	fixture_add_modules(p, size->modules);
	fixture_add_threads(p, size->threads);
	fixture_add_inputs(p, 2);
	fixture_add_nodes(p, size->nodes, size->frames);
	fixture_add_frames(p, size->frames);
	fixture_add_sites(p, size->sites);
	fixture_add_time_line(p, size->points, size->changes);
	fixture_add_parts(p, size->parts);
	fixture_add_snapshots(p);
	fixture_add_tags(p);
	fixture_add_maps(p);
	fixture_add_surveys(p);
	fixture_add_variables(p);
	fixture_add_depths(p);
	p->resolved = true;
	return p;
}

/* Small enough to try every byte of its file. */
static inline struct profile *fixture_small(void)
{
	static const struct fixture_size size = {3, 20, 8, 6, 2, 5, 9, 4};
	struct profile *p = fixture_profile(7, &size);

	memset(p->size_by_life, 0, sizeof(p->size_by_life));
	memset(p->sizes, 0, sizeof(p->sizes));
	p->sizes[5].count = 12;
	p->size_by_life[5][20] = 11;
	return p;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct fixture_file {
	char directory[64];
	char path[96];
};

static inline void fixture_open_directory(struct fixture_file *f)
{
	strcpy(f->directory, "/tmp/midden-test-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	(void)snprintf(f->path, sizeof(f->path), "%s/a.mdn", f->directory);
}

static inline void fixture_close_directory(struct fixture_file *f)
{
	(void)unlink(f->path);
	assert_int_equal(rmdir(f->directory), 0); /* fails if something else was left behind */
}

struct fixture_bytes {
	uint8_t *at;
	size_t count;
};

static inline struct fixture_bytes fixture_load(const char *path)
{
	struct fixture_bytes b = {0};
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	b.count = (size_t)ftell(f);
	rewind(f);
	b.at = mem_new(b.count, 1);
	assert_int_equal(fread(b.at, 1, b.count, f), b.count);
	(void)fclose(f);
	return b;
}

/* The bytes of the profile's file. */
static inline struct fixture_bytes fixture_encode(const struct profile *p)
{
	struct fixture_file f;
	struct error e = {0};

	fixture_open_directory(&f);
	assert_int_equal(profile_write(p, f.path, &e), 0);
	struct fixture_bytes b = fixture_load(f.path);
	fixture_close_directory(&f);
	return b;
}

/* ---- comparing ------------------------------------------------------------------------------- */

#define FIXTURE_ROWS_EQUAL(a, b, rows)                                                \
	do {                                                                          \
		assert_int_equal((a)->rows.count, (b)->rows.count);                   \
		if ((a)->rows.count)                                                  \
			assert_memory_equal((a)->rows.at, (b)->rows.at,               \
					    (a)->rows.count * sizeof(*(a)->rows.at)); \
	} while (0)

static inline void fixture_assert_equal(const struct profile *a, const struct profile *b)
{
	if (!a || !b) {
		fail();
		return;
	}
	assert_memory_equal(&a->run, &b->run, sizeof(a->run));
	assert_memory_equal(&a->totals, &b->totals, sizeof(a->totals));
	assert_memory_equal(a->sizes, b->sizes, sizeof(a->sizes));
	assert_memory_equal(a->size_by_life, b->size_by_life, sizeof(a->size_by_life));
	FIXTURE_ROWS_EQUAL(a, b, strings);
	FIXTURE_ROWS_EQUAL(a, b, inputs);
	FIXTURE_ROWS_EQUAL(a, b, modules);
	FIXTURE_ROWS_EQUAL(a, b, nodes);
	FIXTURE_ROWS_EQUAL(a, b, frames);
	FIXTURE_ROWS_EQUAL(a, b, sites);
	FIXTURE_ROWS_EQUAL(a, b, threads);
	FIXTURE_ROWS_EQUAL(a, b, points);
	FIXTURE_ROWS_EQUAL(a, b, changes);
	FIXTURE_ROWS_EQUAL(a, b, parts);
	FIXTURE_ROWS_EQUAL(a, b, blocks);
	FIXTURE_ROWS_EQUAL(a, b, snapshots);
	FIXTURE_ROWS_EQUAL(a, b, tags);
	FIXTURE_ROWS_EQUAL(a, b, map_kinds);
	FIXTURE_ROWS_EQUAL(a, b, map_sites);
	assert_memory_equal(&a->map_totals, &b->map_totals, sizeof(a->map_totals));
	FIXTURE_ROWS_EQUAL(a, b, surveys);
	FIXTURE_ROWS_EQUAL(a, b, pins);
	FIXTURE_ROWS_EQUAL(a, b, cells);
	FIXTURE_ROWS_EQUAL(a, b, types);
	FIXTURE_ROWS_EQUAL(a, b, extents);
	FIXTURE_ROWS_EQUAL(a, b, variables);
	FIXTURE_ROWS_EQUAL(a, b, depths);
	assert_int_equal(a->resolved, b->resolved);
	assert_int_equal(a->damaged, b->damaged);
	assert_string_equal(a->damage, b->damage);
}

#endif
