/* merge.c -- several profiles made one: processes, ranks, repeated runs.
 * Runs: offline; one input at a time is in memory. Called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge.h"

#include <string.h>

#include "model/merge_depths.h"
#include "model/merge_figures.h"
#include "model/merge_lost.h"
#include "model/merge_maps.h"
#include "model/merge_shares.h"
#include "model/merge_tags.h"
#include "model/merge_threads.h"
#include "model/merge_times.h"
#include "model/remap.h"

/* What of a run is the same in all inputs so far. */
enum alike {
	ALIKE_PROGRAM,
	ALIKE_EXECUTABLE,
	ALIKE_COMMAND,
	ALIKE_DIRECTORY,
	ALIKE_HOST,
	ALIKE_MODE,
	ALIKE_MACHINE,
	ALIKE_VERSION,
	ALIKE_TEXTS
};

struct merge {
	struct merge_options options;
	struct profile *out;
	struct remap remap;
	struct merge_threads threads;
	struct merge_shares shares;
	struct merge_tags tags;
	struct merge_maps maps;
	struct merge_lost lost;
	struct merge_times times;
	struct map site_of;			/* node -> site, plus one */
	VEC(struct profile_site) current;	/* by site: what the input under way has there */
	VEC(uint32_t) touched;			/* sites of the input under way */
	VEC(struct profile_snapshot) snapshots; /* of the input under way */
	VEC(uint64_t) own_peaks;		/* by site: the largest of one input */
	struct profile_totals rest;		/* what totals have beyond the stacks */
	uint64_t count;				/* inputs */
	bool unlike[ALIKE_TEXTS];
};

struct merge *merge_new(const struct merge_options *options)
{
	struct merge *m = mem_new(1, sizeof(*m));

	m->options = *options;
	m->out = profile_new();
	m->out->resolved = true;
	m->out->run.merge = options->mode;
	m->remap.to = m->out;
	return m;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	profile_free(m->out);
	remap_fini(&m->remap);
	merge_threads_fini(&m->threads);
	merge_shares_fini(&m->shares);
	merge_tags_fini(&m->tags);
	merge_maps_fini(&m->maps);
	merge_lost_fini(&m->lost);
	merge_times_fini(&m->times);
	map_free(&m->site_of);
	vec_free(&m->current);
	vec_free(&m->touched);
	vec_free(&m->snapshots);
	vec_free(&m->own_peaks);
	free(m);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void make_later(uint64_t *time_ns, uint64_t by_ns)
{
	*time_ns = merge_times_later(*time_ns, by_ns);
}

/* An input began before all others: what is there moves. A thread's end may be "never", which is
 * the end of time and stays. */
static void shift_all(struct merge *m, uint64_t by_ns)
{
	struct profile *out = m->out;

	merge_times_shift(&m->times, by_ns);
	merge_maps_shift(out, by_ns);
	make_later(&out->totals.peak_time_ns, by_ns);
	make_later(&out->run.duration_ns, by_ns);
	for (size_t i = 0; i < out->sites.count; i++)
		make_later(&out->sites.at[i].own_peak_time_ns, by_ns);
	for (size_t i = 1; i < out->modules.count; i++)
		make_later(&out->modules.at[i].load_time_ns, by_ns);
	for (size_t i = 0; i < out->threads.count; i++) {
		make_later(&out->threads.at[i].start_ns, by_ns);
		make_later(&out->threads.at[i].end_ns, by_ns);
		make_later(&out->threads.at[i].own_peak_time_ns, by_ns);
	}
}

/* How much later than the merged profile's start the input began; moves that start if need be. */
static uint64_t align(struct merge *m, const struct profile *p)
{
	uint64_t *start = &m->out->run.start_unix_ns;
	uint64_t began = p->run.start_unix_ns;

	if (m->count == 0)
		*start = began;
	if (m->options.align_starts || began == 0 || *start == 0) {
		if (began && (*start == 0 || began < *start))
			*start = began;
		return 0;
	}
	if (began >= *start)
		return began - *start;
	shift_all(m, *start - began);
	*start = began;
	return 0;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t find_site(struct merge *m, uint32_t node)
{
	uint32_t *site = map_reserve(&m->site_of, node);

	if (!*site) {
		*vec_push(&m->out->sites) = (struct profile_site){
			.node = node, .size_min = UINT64_MAX, .lifetime_min_ns = UINT64_MAX};
		*vec_push(&m->current) = (struct profile_site){0};
		*vec_push(&m->own_peaks) = 0;
		*site = (uint32_t)m->out->sites.count;
	}
	return *site - 1;
}

/* Adds up within the input: two of its stacks may be one in the merged profile. */
static uint32_t *collect_sites(struct merge *m, const struct profile *p,
			       const struct remap_table *table)
{
	uint32_t *numbers = mem_new(p->sites.count, sizeof(*numbers));

	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *from = &p->sites.at[i];
		numbers[i] = find_site(m, table->nodes[from->node]);
		struct profile_site *to = &m->current.at[numbers[i]];
		if (to->node == 0) { /* not touched yet; the node is of no other use here */
			*to = *from;
			to->node = 1;
			*vec_push(&m->touched) = numbers[i];
		} else {
			merge_figures_site(to, from, PROFILE_MERGE_SUM);
		}
	}
	return numbers;
}

static void add_sites(struct merge *m, uint64_t shift_ns)
{
	for (size_t i = 0; i < m->touched.count; i++) {
		uint32_t site = m->touched.at[i];
		struct profile_site *from = &m->current.at[site], *to = &m->out->sites.at[site];
		merge_figures_site(to, from, m->options.mode);
		if (from->own_peak_bytes > m->own_peaks.at[site] || m->own_peaks.at[site] == 0) {
			m->own_peaks.at[site] = from->own_peak_bytes;
			to->own_peak_time_ns = merge_times_later(from->own_peak_time_ns, shift_ns);
		}
		from->node = 0;
	}
	m->touched.count = 0;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* What an input's snapshot is called among those of all. */
static struct string_id name_snapshot(struct merge *m, const struct profile *p,
				      const struct profile_snapshot *s, const char *input)
{
	const char *name = profile_string(p, s->name);
	char *text = mem_format(*name ? "%s (%s)" : "%s(%s)", name, input);
	struct string_id id = profile_add_string(m->out, p->inputs.count ? name : text);

	free(text);
	return id;
}

/* As many of the input's snapshots as there is room for, in the merged profile's terms. */
static void list_snapshots(struct merge *m, const struct profile *p, const char *name,
			   struct map *serials)
{
	size_t room = MERGE_TIMES_SNAPSHOTS - m->times.snapshots.count;

	m->snapshots.count = 0;
	for (size_t i = 0; i < p->snapshots.count && i < room; i++) {
		struct profile_snapshot s = p->snapshots.at[i];
		s.name = name_snapshot(m, p, &s, name);
		s.thread = merge_threads_find(serials, s.thread);
		*vec_push(&m->snapshots) = s;
	}
}

/* ---- the run --------------------------------------------------------------------------------- */

static struct string_id *run_texts(struct profile_run *run, enum alike which)
{
	struct string_id *const texts[ALIKE_TEXTS] = {
		[ALIKE_PROGRAM] = &run->program, [ALIKE_EXECUTABLE] = &run->executable,
		[ALIKE_COMMAND] = &run->command, [ALIKE_DIRECTORY] = &run->directory,
		[ALIKE_HOST] = &run->host,	 [ALIKE_MODE] = &run->mode,
		[ALIKE_MACHINE] = &run->machine, [ALIKE_VERSION] = &run->version,
	};

	return texts[which];
}

static void add_run_texts(struct merge *m, const struct profile *p, struct remap_table *table)
{
	struct profile_run from = p->run;

	for (unsigned i = 0; i < ALIKE_TEXTS; i++) {
		struct string_id *to = run_texts(&m->out->run, (enum alike)i);
		struct string_id id =
			remap_string(&m->remap, p, table, *run_texts(&from, (enum alike)i));
		if (m->count == 0)
			*to = id;
		else if (to->v != id.v)
			m->unlike[i] = true;
	}
}

/* The end that people should hear of first. */
static unsigned end_rank(const struct profile_run *run)
{
	switch (run->end) {
	case PROFILE_END_ABANDONED:
		return 5;
	case PROFILE_END_SIGNALED:
		return 4;
	case PROFILE_END_EXITED:
		return run->exit_code ? 3 : 0;
	case PROFILE_END_EXEC:
		return 1;
	default:
		return 2;
	}
}

/* Where all blocks of one input were sampled, the sum is no better known. */
static void add_sampling(struct profile_run *to, const struct profile_run *from)
{
	if (from->sample_period &&
	    (!to->sample_period || from->sampled_blocks == PROFILE_SAMPLED_ALL))
		to->sampled_blocks = from->sampled_blocks;
	if (from->sample_period > to->sample_period)
		to->sample_period = from->sample_period;
	if (from->small_objects)
		to->small_objects = from->small_objects;
}

static void add_run(struct merge *m, const struct profile *p, uint64_t shift_ns)
{
	struct profile_run *to = &m->out->run;
	const struct profile_run *from = &p->run;
	uint64_t duration = merge_times_later(from->duration_ns, shift_ns);

	if (duration > to->duration_ns)
		to->duration_ns = duration;
	to->children_not_recorded += from->children_not_recorded;
	add_sampling(to, from);
	if (m->count == 0 || end_rank(from) > end_rank(to)) {
		to->end = from->end;
		to->exit_code = from->exit_code;
		to->exit_signal = from->exit_signal;
	}
	if (m->count == 0) {
		to->pid = from->pid;
		to->parent_pid = from->parent_pid;
		to->page_bytes = from->page_bytes;
	}
	if (to->pid != from->pid)
		to->pid = 0;
	if (to->parent_pid != from->parent_pid)
		to->parent_pid = 0;
	if (to->page_bytes != from->page_bytes)
		to->page_bytes = 0;
}

static void add_input(struct merge *m, const struct profile *p, struct remap_table *table,
		      const char *name)
{
	const struct profile_run *run = &p->run;
	struct profile_input in = {
		.name = profile_add_string(m->out, name),
		.program = remap_string(&m->remap, p, table, run->program),
		.command = remap_string(&m->remap, p, table, run->command),
		.host = remap_string(&m->remap, p, table, run->host),
		.start_unix_ns = run->start_unix_ns,
		.duration_ns = run->duration_ns,
		.pid = run->pid,
		.parent_pid = run->parent_pid,
		.end = run->end,
		.exit_code = run->exit_code,
		.exit_signal = run->exit_signal,
		.rank = run->rank,
		.lost_flags = run->lost_flags,
		.totals = p->totals,
	};

	*vec_push(&m->out->inputs) = in;
}

/* A merged profile's inputs take its place. */
static void add_inputs(struct merge *m, const struct profile *p, struct remap_table *table,
		       const char *name)
{
	if (p->inputs.count == 0)
		add_input(m, p, table, name);
	for (size_t i = 0; i < p->inputs.count; i++) {
		struct profile_input in = p->inputs.at[i];
		in.name = remap_string(&m->remap, p, table, in.name);
		in.program = remap_string(&m->remap, p, table, in.program);
		in.command = remap_string(&m->remap, p, table, in.command);
		in.host = remap_string(&m->remap, p, table, in.host);
		*vec_push(&m->out->inputs) = in;
	}
}

static void note_damage(struct merge *m, const struct profile *p, const char *name)
{
	struct profile *out = m->out;

	out->resolved = out->resolved && p->resolved;
	if (!p->damaged || out->damaged)
		return;
	char *text = mem_format("%s: %s", name, p->damage);
	out->damaged = true;
	strncpy(out->damage, text, sizeof(out->damage) - 1); /* as much as there is room for */
	free(text);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_totals(struct merge *m, const struct profile *p, uint64_t shift_ns)
{
	struct profile_totals rest = merge_figures_rest(p);

	rest.lost_snapshots += p->snapshots.count - m->snapshots.count;
	merge_figures_totals(&m->rest, &rest, m->options.mode);
	merge_figures_histograms(m->out, p, m->options.mode);
	if (m->count == 0)
		m->out->totals.peak_time_ns = merge_times_later(p->totals.peak_time_ns, shift_ns);
}

static void add_code(struct merge *m, const struct profile *p, struct remap_table *table,
		     uint64_t shift_ns)
{
	size_t known = m->out->modules.count;

	remap_add(&m->remap, p, table);
	for (size_t i = known; i < m->out->modules.count; i++)
		make_later(&m->out->modules.at[i].load_time_ns, shift_ns);
}

/* An input in the merged profile's terms. */
struct terms {
	struct remap_table table;
	struct map serials; /* of its threads */
	uint32_t *sites;
	uint64_t shift_ns;
};

static void add_threads(struct merge *m, const struct profile *p, struct terms *t)
{
	merge_threads_add(&m->threads, &m->remap,
			  &(struct merge_threads_input){
				  .profile = p,
				  .table = &t->table,
				  .first_input = (uint32_t)m->out->inputs.count,
				  .shift_ns = t->shift_ns,
				  .mode = m->options.mode,
			  },
			  &t->serials);
}

static void add_shares(struct merge *m, const struct profile *p, struct terms *t)
{
	merge_shares_add(&m->shares, &(struct merge_shares_input){
					     .profile = p,
					     .sites = t->sites,
					     .serials = &t->serials,
					     .mode = m->options.mode,
				     });
}

static void add_times(struct merge *m, const struct profile *p, struct terms *t, const char *name)
{
	list_snapshots(m, p, name, &t->serials);
	merge_times_add(&m->times, &(struct merge_times_input){
					   .profile = p,
					   .sites = t->sites,
					   .site_count = m->out->sites.count,
					   .snapshots = m->snapshots.at,
					   .snapshot_count = m->snapshots.count,
					   .shift_ns = t->shift_ns,
					   .mode = m->options.mode,
				   });
}

void merge_add(struct merge *m, const struct profile *p, const char *name)
{
	struct terms t = {.shift_ns = align(m, p)};

	add_run_texts(m, p, &t.table);
	add_run(m, p, t.shift_ns);
	add_threads(m, p, &t);
	add_inputs(m, p, &t.table, name);
	add_code(m, p, &t.table, t.shift_ns);
	t.sites = collect_sites(m, p, &t.table);
	add_sites(m, t.shift_ns);
	add_shares(m, p, &t);
	merge_tags_add(&m->tags, &m->remap, p, &t.table, &t.serials);
	merge_depths_add(m->out, p, &t.table, &t.serials);
	merge_maps_add(&m->maps, m->out, p, &t.table, t.shift_ns);
	merge_lost_add(&m->lost, &m->remap, p, &t.table, t.sites);
	add_times(m, p, &t, name);
	add_totals(m, p, t.shift_ns);
	note_damage(m, p, name);
	m->out->of_maps = p->of_maps;
	m->count++;
	free(t.sites);
	map_free(&t.serials);
	remap_table_fini(&t.table);
}

/* A process for others to name as their parent; hosts number theirs alike. */
static uint64_t process_key(struct string_id host, uint32_t pid)
{
	return (uint64_t)host.v << 32 | pid;
}

static bool is_earlier(const struct profile_input *a, const struct profile_input *b)
{
	return !b ||
	       (a->start_unix_ns && (!b->start_unix_ns || a->start_unix_ns < b->start_unix_ns));
}

/* The program that was started, of all that run below it: its parent is none of them. Of several,
 * the first one. */
static const struct profile_input *find_first(const struct profile *p)
{
	const struct profile_input *first = NULL, *root = NULL;
	struct map pids = {0};

	for (size_t i = 0; i < p->inputs.count; i++)
		*map_reserve(&pids, process_key(p->inputs.at[i].host, p->inputs.at[i].pid)) = 1;
	for (size_t i = 0; i < p->inputs.count; i++) {
		const struct profile_input *in = &p->inputs.at[i];

		if (is_earlier(in, first))
			first = in;
		if (!*map_reserve(&pids, process_key(in->host, in->parent_pid)) &&
		    is_earlier(in, root))
			root = in;
	}
	map_free(&pids);
	return root ? root : first;
}

/* Texts that differ: that of the program that was started with a note, or none. */
static void describe_run(struct merge *m)
{
	static const char *const words[ALIKE_TEXTS] = {
		[ALIKE_HOST] = "several hosts",
		[ALIKE_MODE] = "mixed",
		[ALIKE_MACHINE] = "mixed",
	};
	struct profile *out = m->out;
	const struct profile_input *first = find_first(out);

	for (unsigned i = 0; i < ALIKE_TEXTS; i++) {
		struct string_id *id = run_texts(&out->run, (enum alike)i);
		if (!m->unlike[i])
			continue;
		if (i == ALIKE_PROGRAM || i == ALIKE_COMMAND) {
			struct string_id own = i == ALIKE_PROGRAM ? first->program : first->command;
			char *text = mem_format("%s and others", profile_string(out, own));
			*id = profile_add_string(out, text);
			free(text);
		} else {
			*id = profile_add_string(out, words[i]);
		}
	}
}

/* Peaks of several inputs have no moment in common: when the most was live is what remains. */
static uint64_t find_peak_time(const struct merge *m)
{
	const struct profile_point *points = m->times.points.at;
	size_t highest = 0;

	if (m->count == 1 || m->times.points.count == 0)
		return m->out->totals.peak_time_ns;
	for (size_t i = 1; i < m->times.points.count; i++)
		if (points[i].peak_bytes > points[highest].peak_bytes)
			highest = i;
	return points[highest].time_ns;
}

static void finish_figures(struct merge *m)
{
	struct profile *out = m->out;
	bool mean = m->options.mode == PROFILE_MERGE_MEAN;

	for (size_t i = 0; i < out->sites.count; i++) {
		if (mean)
			merge_figures_divide_site(&out->sites.at[i], m->count);
		if (m->options.mode != PROFILE_MERGE_SUM)
			merge_figures_balance(&out->sites.at[i]);
	}
	for (size_t i = 0; mean && i < out->threads.count; i++)
		merge_figures_divide_thread(&out->threads.at[i], m->count);
	if (mean) {
		merge_figures_divide_totals(&m->rest, m->count);
		merge_figures_divide_histograms(out, m->count);
		merge_times_divide(&m->times, m->count);
		merge_tags_divide(out, m->count);
		merge_lost_divide(out, m->count);
	}
	merge_maps_finish(out, m->count);
	merge_depths_finish(out);
	uint64_t peak_time_ns = find_peak_time(m);
	merge_shares_finish(&m->shares, out, m->count);
	merge_figures_total_up(out, &m->rest);
	out->totals.peak_time_ns = peak_time_ns;
	out->totals.stacks = out->sites.count;
}

struct profile *merge_finish(struct merge *m, struct error *e)
{
	struct profile *out = m->out;

	if (m->count == 0) {
		merge_free(m);
		error_set(e, "nothing to merge");
		return NULL;
	}
	describe_run(m);
	finish_figures(m);
	memcpy(&out->points, &m->times.points, sizeof(out->points));
	memcpy(&out->changes, &m->times.changes, sizeof(out->changes));
	memcpy(&out->snapshots, &m->times.snapshots, sizeof(out->snapshots));
	m->times = (struct merge_times){0};
	m->out = NULL;
	merge_free(m);
	if (profile_check(out, e) == 0)
		return out;
	profile_free(out);
	return NULL;
}
