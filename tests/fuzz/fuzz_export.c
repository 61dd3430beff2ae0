/* fuzz_export.c -- odd profiles in every export format.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of things to add to an empty profile, each {u8 kind, ...}; see add_next. With
 * 0x40 in its first byte it makes an absurd one instead (absurd.h), with 0x20 too the maps of that.
 * What comes out is what the profile reader could let through: it passes profile_check. Exports
 * must neither fail nor touch what is not theirs. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absurd.h"
#include "export/export.h"
#include "model/map_view.h"
#include "profile/cursor.h"

#define TEXT_MOST 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint8_t take_byte(struct cursor *c)
{
	return cursor_get_left(c) ? *(const uint8_t *)cursor_take_bytes(c, 1) : 0;
}

static uint64_t take_number(struct cursor *c)
{
	uint64_t value = 0;
	size_t bytes = take_byte(c) % 9;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | take_byte(c);
	return value;
}

/* An index below `count`. */
static uint32_t take_index(struct cursor *c, size_t count)
{
	return (uint32_t)((take_byte(c) | (unsigned)take_byte(c) << 8) % count);
}

static struct string_id take_text(struct profile *p, struct cursor *c)
{
	char text[TEXT_MOST] = {0};
	size_t length = take_byte(c) % TEXT_MOST;

	for (size_t i = 0; i < length; i++)
		text[i] = (char)take_byte(c);
	return profile_add_string(p, text);
}

static void add_site(struct profile *p, struct cursor *c)
{
	struct profile_site site = {.node = take_index(c, p->nodes.count)};

	site.allocations = site.live_blocks = site.at_peak_blocks = take_byte(c);
	site.allocated_bytes = site.live_bytes = site.at_peak_bytes = take_number(c);
	site.size_min = site.lifetime_min_ns = UINT64_MAX;
	site.own_peak_bytes = site.live_bytes;
	*vec_push(&p->sites) = site;
	p->totals.stacks++;
}

static void add_next(struct profile *p, struct cursor *c)
{
	switch (take_byte(c) % 5) {
	case 0: {
		struct profile_module m = {.path = take_text(p, c), .bias = take_number(c)};
		m.map_start = m.map_end = m.bias;
		m.build_id_bytes = take_byte(c) % (sizeof(m.build_id) + 1);
		*vec_push(&p->modules) = m;
		break;
	}
	case 1: {
		struct profile_frame f = {.function = take_text(p, c), .file = take_text(p, c)};
		f.line = take_byte(c);
		f.next = take_index(c, p->frames.count);
		*vec_push(&p->frames) = f;
		break;
	}
	case 2: {
		struct profile_node n = {.pc = take_number(c)};
		n.parent = take_index(c, p->nodes.count);
		n.module = take_index(c, p->modules.count);
		n.frames = take_index(c, p->frames.count);
		n.exact = take_byte(c) % 2;
		n.cut = take_byte(c) % 8 == 1;
		*vec_push(&p->nodes) = n;
		break;
	}
	case 3:
		add_site(p, c);
		break;
	default:
		p->run.program = take_text(p, c);
		p->run.command = take_text(p, c);
	}
}

static void export_all(const struct model *m, uint8_t figure)
{
	const struct export_format *f;
	struct export_request r = {.model = m, .figure = (enum figure)(figure % FIGURE_KINDS)};

	for (size_t i = 0; (f = export_get(i)); i++) {
		struct error e = {0};
		char *text = NULL;
		size_t bytes = 0;
		FILE *out = open_memstream(&text, &bytes);
		if (!out)
			abort();
		if ((f->write(out, &r, &e) != 0) != e.set || ferror(out))
			abort();
		fclose(out);
		free(text);
	}
}

static struct profile *make_profile(struct cursor *c, uint8_t choice)
{
	struct error e = {0};

	if (choice & 0x40) {
		size_t left = cursor_get_left(c);
		struct absurd_input in = {cursor_take_bytes(c, left), left};
		struct profile *absurd = absurd_make(&in);

		if ((choice & 0x20) && profile_check(absurd, &e) == 0)
			(void)map_view_choose(absurd, PROFILE_MAP_KINDS, &e);
		return absurd;
	}
	struct profile *p = profile_new();
	while (cursor_get_left(c))
		add_next(p, c);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cursor c = cursor_init(data, bytes);
	struct error e = {0};
	uint8_t choice = take_byte(&c);
	struct profile *p = make_profile(&c, choice);

	if (profile_check(p, &e) == 0) {
		struct model_options options = {.all_frames = choice & 0x80};
		struct model *m = model_new(p, &options);
		export_all(m, choice & 0x7f);
		model_free(m);
	}
	profile_free(p);
	return 0;
}
