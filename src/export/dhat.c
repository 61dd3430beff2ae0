/* dhat.c -- all figures with lifetimes in the JSON that DHAT's viewer (dh_view.html) reads. Runs:
 * offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The viewer refuses a file that names a stack twice, so sites whose frames read the same are added
 * up. Everything adds up but the most that a site ever held at one time: there the highest that is
 * sure to have been held at one time stands. */
#include "base/json.h"
#include "export/chains.h"
#include "export/export.h"
#include "export/places.h"

/* Blocks that live no longer than this on average count as short-lived in the viewer. */
#define SHORT_LIFE_NS 10000u

/* What DHAT calls a program point. */
struct program_point {
	uint32_t chain;
	struct amount allocated;
	struct amount most;
	struct amount at_peak;
	struct amount at_end;
	uint64_t lifetimes_ns;
};

/* The blocks of a site that are there at the end, followed back in time. */
struct leak {
	uint64_t blocks;   /* of them, those that may have been there at since_ns */
	uint64_t since_ns; /* how far back it has been followed */
	uint64_t lifetimes_ns;
};

struct writer {
	struct json json;
	const struct model *model;
	const struct profile *profile;
	struct leak *leaks;   /* by site */
	struct chains chains; /* of frames; a node's item is its program point + 1 */
	VEC(struct program_point) points;
	uint32_t *numbers; /* by frame: its place in the table; see chains_number */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void follow_back(struct leak *leak, const struct profile_change *c, uint64_t time_ns)
{
	leak->blocks = smaller(leak->blocks, c->live_blocks);
	if (leak->since_ns <= time_ns)
		return;
	leak->lifetimes_ns += leak->blocks * (leak->since_ns - time_ns);
	leak->since_ns = time_ns;
}

/* How long leaked blocks lived is not recorded. A site that never held fewer than n blocks from
 * some point of the time line to the end is taken to have leaked n blocks by then, which is so for
 * all that only leaks. */
static void date_leaks(struct writer *w)
{
	const struct profile *p = w->profile;

	w->leaks = mem_new(p->sites.count, sizeof(*w->leaks));
	for (size_t i = 0; i < p->sites.count; i++)
		w->leaks[i] = (struct leak){.blocks = p->sites.at[i].live_blocks,
					    .since_ns = p->run.duration_ns};
	for (size_t i = p->changes.count; i-- > 0;) {
		const struct profile_change *c = &p->changes.at[i];
		follow_back(&w->leaks[c->site], c, p->points.at[c->point].time_ns);
	}
}

/* How many blocks the most bytes were in: known if that was at the peak or the end, or if all
 * blocks are of one size; otherwise taken from the mean size. */
static uint64_t most_blocks(const struct profile_site *s)
{
	if (s->own_peak_bytes == s->at_peak_bytes)
		return s->at_peak_blocks;
	if (s->own_peak_bytes == s->live_bytes)
		return s->live_blocks;
	if (s->allocated_bytes == 0)
		return 0;
	unsigned __int128 blocks = (unsigned __int128)s->own_peak_bytes * s->allocations;
	blocks = (blocks + s->allocated_bytes / 2) / s->allocated_bytes;
	return blocks ? (uint64_t)blocks : s->own_peak_bytes > 0;
}

static void raise_most(struct amount *most, struct amount held)
{
	if (held.bytes > most->bytes)
		*most = held;
}

static void add_site(struct program_point *point, const struct profile_site *s, uint64_t leak_ns)
{
	point->allocated = amount_plus(point->allocated, figure_get(s, FIGURE_ALLOCATED));
	point->at_peak = amount_plus(point->at_peak, figure_get(s, FIGURE_PEAK));
	point->at_end = amount_plus(point->at_end, figure_get(s, FIGURE_LEAKED));
	point->lifetimes_ns += s->lifetime_sum_ns + leak_ns;
	raise_most(&point->most,
		   (struct amount){.bytes = s->own_peak_bytes, .blocks = most_blocks(s)});
	raise_most(&point->most, point->at_peak);
	raise_most(&point->most, point->at_end);
}

static void list_points(struct writer *w)
{
	struct model_stack stack = {0};

	for (size_t i = 0; i < w->profile->sites.count; i++) {
		uint32_t chain = 0;
		model_get_stack(w->model, i, &stack);
		for (size_t k = stack.frames.count; k-- > 0;)
			chain = chains_extend(&w->chains, chain, stack.frames.at[k]);
		uint32_t *item = &w->chains.nodes.at[chain].item;
		if (*item == 0) {
			*vec_push(&w->points) = (struct program_point){.chain = chain};
			*item = (uint32_t)w->points.count;
		}
		add_site(&w->points.at[*item - 1], &w->profile->sites.at[i],
			 w->leaks[i].lifetimes_ns);
	}
	vec_free(&stack.frames);
}

static void write_head(struct writer *w)
{
	const struct profile *p = w->profile;
	struct json *j = &w->json;

	json_add_uint(j, "dhatFileVersion", 2);
	json_add_string(j, "mode", "heap");
	json_add_string(j, "verb", "Allocated");
	json_add_bool(j, "bklt", true);	  /* lifetimes are there */
	json_add_bool(j, "bkacc", false); /* reads and writes are not */
	json_add_string(j, "tu", "ns");
	json_add_string(j, "Mtu", "ms"); /* a million of the unit */
	json_add_uint(j, "tuth", SHORT_LIFE_NS);
	json_add_string(j, "cmd", profile_string(p, p->run.command));
	json_add_uint(j, "pid", p->run.pid);
	json_add_uint(j, "te", p->run.duration_ns);
	json_add_uint(j, "tg", p->totals.peak_time_ns);
}

static void write_amount(struct json *j, const char *bytes, const char *blocks, struct amount a)
{
	json_add_uint(j, bytes, a.bytes);
	json_add_uint(j, blocks, a.blocks);
}

static void write_points(struct writer *w)
{
	struct json *j = &w->json;

	json_begin_list(j, "pps");
	for (size_t i = 0; i < w->points.count; i++) {
		const struct program_point *point = &w->points.at[i];
		json_begin_object(j, NULL);
		write_amount(j, "tb", "tbk", point->allocated);
		json_add_uint(j, "tl", point->lifetimes_ns);
		write_amount(j, "mb", "mbk", point->most);
		write_amount(j, "gb", "gbk", point->at_peak);
		write_amount(j, "eb", "ebk", point->at_end);
		chains_write(&w->chains, point->chain, w->numbers, j, "fs");
		json_end_object(j);
	}
	json_end_list(j);
}

static void write_frames(struct writer *w)
{
	size_t count = model_get_frame_count(w->model);

	json_begin_list(&w->json, "ftbl");
	json_add_string(&w->json, NULL, "[root]");
	for (uint32_t i = 0; i < count; i++) {
		if (w->numbers[i] == UINT32_MAX)
			continue;
		char *place = places_format(model_get_frame(w->model, i), "");
		json_add_string(&w->json, NULL, place);
		free(place);
	}
	json_end_list(&w->json);
}

static int write_dhat(FILE *out, const struct export_request *r, struct error *e)
{
	struct writer w = {
		.json = {.out = out}, .model = r->model, .profile = model_get_profile(r->model)};

	(void)e;
	date_leaks(&w);
	list_points(&w);
	/* 0 is the viewer's own root. */
	w.numbers = chains_number(&w.chains, model_get_frame_count(r->model), 1);
	json_begin_object(&w.json, NULL);
	write_head(&w);
	write_points(&w);
	write_frames(&w);
	json_end_object(&w.json);
	free(w.leaks);
	free(w.numbers);
	vec_free(&w.points);
	chains_free(&w.chains);
	return 0;
}

const struct export_format export_dhat = {
	.name = "dhat",
	.summary = "all figures and lifetimes for valgrind's dh_view.html",
	.suffix = ".dhat.json",
	.write = write_dhat,
};
