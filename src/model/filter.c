/* filter.c -- which of a profile's stacks a reader wants to see. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/origin.h"

/* What the patterns say about a frame; frames are few and stacks are many, so they are asked once.
 */
enum frame_mark {
	MARK_INCLUDED = 1,
	MARK_EXCLUDED = 2,
	MARK_MODULE = 4,
	MARK_NO_MODULE = 8,
	MARK_TAG = 32,
	MARK_START = 16, /* can be the code that starts programs and threads */
};

void filter_free(struct filter *f)
{
	pattern_free_list(&f->include);
	pattern_free_list(&f->exclude);
	pattern_free_list(&f->modules);
	pattern_free_list(&f->no_modules);
	pattern_free_list(&f->tags);
	pattern_free_list(&f->threads);
}

bool filter_is_empty(const struct filter *f)
{
	return !f->include.all.count && !f->exclude.all.count && !f->modules.all.count &&
	       !f->no_modules.all.count && !f->tags.all.count && !f->threads.all.count &&
	       !f->size_min && !f->has_size_max;
}

bool filter_asks_for_stacks(const struct filter *f)
{
	struct filter others = *f;

	others.threads.all.count = 0;
	return !filter_is_empty(&others);
}

static bool has_function(const struct pattern_list *list, const struct model_frame *frame)
{
	for (size_t i = 0; i < list->all.count; i++)
		if (pattern_has_function(list->all.at[i], frame->function))
			return true;
	return false;
}

static bool has_module(const struct pattern_list *list, const struct model_frame *frame)
{
	for (size_t i = 0; i < list->all.count; i++)
		if (pattern_has_module(list->all.at[i], frame->module))
			return true;
	return false;
}

static bool has_tag(const struct pattern *pattern, const struct model_frame *frame)
{
	return frame->named == PROFILE_NAMED_TAG && pattern_has(pattern, frame->function);
}

static bool has_any_tag(const struct pattern_list *list, const struct model_frame *frame)
{
	for (size_t i = 0; i < list->all.count; i++)
		if (has_tag(list->all.at[i], frame))
			return true;
	return false;
}

static uint8_t *mark_frames(const struct filter *f, const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint8_t *marks = mem_new(count, sizeof(*marks));

	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *frame = model_get_frame(m, i);
		/* Tags are around the code that starts things: it ends the stack all the same. */
		bool starts = strcmp(frame->function, "_start") == 0 ||
			      origin_is_libc(frame->module) || frame->named == PROFILE_NAMED_TAG;
		marks[i] = (uint8_t)((has_function(&f->include, frame) ? MARK_INCLUDED : 0) |
				     (has_function(&f->exclude, frame) ? MARK_EXCLUDED : 0) |
				     (has_module(&f->modules, frame) ? MARK_MODULE : 0) |
				     (has_module(&f->no_modules, frame) ? MARK_NO_MODULE : 0) |
				     (has_any_tag(&f->tags, frame) ? MARK_TAG : 0) |
				     (starts ? MARK_START : 0));
	}
	return marks;
}

/* All marks on a stack; those of modules only above the code that starts things. */
static unsigned join_marks(const uint8_t *marks, const struct model_stack *stack)
{
	const unsigned of_modules = MARK_MODULE | MARK_NO_MODULE;
	size_t start = stack->frames.count;
	unsigned joint = 0;

	while (start > 0 && marks[stack->frames.at[start - 1]] & MARK_START)
		start--;
	if (start == 0)
		start = stack->frames.count;
	for (size_t i = 0; i < stack->frames.count; i++)
		joint |= marks[stack->frames.at[i]] & (i < start ? ~0U : ~of_modules);
	return joint;
}

bool filter_asks_for_sizes(const struct filter *f)
{
	return f->size_min || f->has_size_max;
}

bool filter_has_size(const struct filter *f, uint64_t bytes)
{
	return bytes >= f->size_min && (!f->has_size_max || bytes <= f->size_max);
}

static enum filter_verdict judge_size(const struct filter *f, const struct profile_site *site)
{
	if (site->allocations == 0)
		return FILTER_KEPT;
	return site->size_max < f->size_min || (f->has_size_max && site->size_min > f->size_max)
		       ? FILTER_SIZE
		       : FILTER_KEPT;
}

bool filter_is_mixed(const struct filter *f, const struct profile_site *site)
{
	return site->allocations && judge_size(f, site) == FILTER_KEPT &&
	       !(filter_has_size(f, site->size_min) && filter_has_size(f, site->size_max));
}

static enum filter_verdict judge_stack(const struct filter *f, unsigned marks)
{
	if ((f->include.all.count && !(marks & MARK_INCLUDED)) || marks & MARK_EXCLUDED)
		return FILTER_FUNCTION;
	if ((f->modules.all.count && !(marks & MARK_MODULE)) || marks & MARK_NO_MODULE)
		return FILTER_MODULE;
	if (f->tags.all.count && !(marks & MARK_TAG))
		return FILTER_TAG;
	return FILTER_KEPT;
}

static bool asks_for_frames(const struct filter *f)
{
	return f->include.all.count || f->exclude.all.count || f->modules.all.count ||
	       f->no_modules.all.count || f->tags.all.count;
}

uint8_t *filter_judge(const struct filter *f, const struct model *m)
{
	const struct profile *p = model_get_profile(m);
	uint8_t *verdicts = mem_new(p->sites.count, sizeof(*verdicts));
	uint8_t *marks = asks_for_frames(f) ? mark_frames(f, m) : NULL;
	struct model_stack stack = {0};

	for (size_t i = 0; i < p->sites.count; i++) {
		enum filter_verdict verdict = FILTER_KEPT;
		if (marks) {
			model_get_stack(m, i, &stack);
			verdict = judge_stack(f, join_marks(marks, &stack));
		}
		if (verdict == FILTER_KEPT)
			verdict = judge_size(f, &p->sites.at[i]);
		verdicts[i] = (uint8_t)verdict;
	}
	free(marks);
	vec_free(&stack.frames);
	return verdicts;
}

bool filter_spares_start(const struct filter *f, const struct model *m)
{
	size_t count = model_get_frame_count(m);

	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *frame = model_get_frame(m, i);
		if (origin_is_libc(frame->module) &&
		    (has_module(&f->modules, frame) || has_module(&f->no_modules, frame)))
			return true;
	}
	return false;
}

/* ---- patterns that mean nothing -------------------------------------------------------------- */

static bool has_any(const struct pattern *pattern, const struct model *m,
		    bool (*has)(const struct pattern *, const char *), bool of_module)
{
	size_t count = model_get_frame_count(m);
	bool found = false;

	for (uint32_t i = 0; i < count && !found; i++) {
		const struct model_frame *frame = model_get_frame(m, i);
		found = has(pattern, of_module ? frame->module : frame->function);
	}
	return found;
}

static void add_misses(struct filter_misses *misses, const struct pattern_list *list,
		       const struct model *m, bool of_module, bool leaves_out)
{
	for (size_t i = 0; i < list->all.count; i++)
		if (!has_any(list->all.at[i], m,
			     of_module ? pattern_has_module : pattern_has_function, of_module))
			*vec_push(&misses->all) =
				(struct filter_miss){.what = of_module ? "module" : "function",
						     .pattern = list->all.at[i],
						     .leaves_out = leaves_out};
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_thread(const struct pattern *pattern, const struct profile *p,
		      const struct profile_thread *t)
{
	char tid[16], serial[16];

	(void)snprintf(tid, sizeof(tid), "%" PRIu32, t->tid);
	(void)snprintf(serial, sizeof(serial), "%" PRIu32, t->serial);
	return pattern_has(pattern, profile_string(p, t->name)) ||
	       strcmp(pattern_get_text(pattern), tid) == 0 ||
	       strcmp(pattern_get_text(pattern), serial) == 0;
}

static bool has_any_thread(const struct pattern *pattern, const struct profile *p)
{
	size_t i = 0;

	while (i < p->threads.count && !is_thread(pattern, p, &p->threads.at[i]))
		i++;
	return i < p->threads.count;
}

static bool has_tag_anywhere(const struct pattern *pattern, const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint32_t i = 0;

	while (i < count && !has_tag(pattern, model_get_frame(m, i)))
		i++;
	return i < count;
}

void filter_list_misses(const struct filter *f, const struct model *m, struct filter_misses *misses)
{
	add_misses(misses, &f->include, m, false, false);
	add_misses(misses, &f->exclude, m, false, true);
	add_misses(misses, &f->modules, m, true, false);
	add_misses(misses, &f->no_modules, m, true, true);
	for (size_t i = 0; i < f->tags.all.count; i++)
		if (!has_tag_anywhere(f->tags.all.at[i], m))
			*vec_push(&misses->all) =
				(struct filter_miss){.what = "tag", .pattern = f->tags.all.at[i]};
	for (size_t i = 0; i < f->threads.all.count; i++)
		if (!has_any_thread(f->threads.all.at[i], model_get_profile(m)))
			*vec_push(&misses->all) = (struct filter_miss){
				.what = "thread", .pattern = f->threads.all.at[i]};
}

bool filter_has_thread(const struct filter *f, const struct profile *p,
		       const struct profile_thread *t)
{
	for (size_t i = 0; i < f->threads.all.count; i++)
		if (is_thread(f->threads.all.at[i], p, t))
			return true;
	return f->threads.all.count == 0;
}

bool filter_has_all_threads(const struct filter *f, const struct profile *p)
{
	for (size_t i = 0; i < p->threads.count; i++)
		if (!filter_has_thread(f, p, &p->threads.at[i]))
			return false;
	return true;
}
