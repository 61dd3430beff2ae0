/* callgrind.c -- the call graph with all figures, as callgrind_annotate and KCachegrind read it.
 * Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Readers take what a function's callers pay for its calls as its inclusive cost. So a stack counts
 * at the outermost call of a function alone, however often the function recurs, and the outermost
 * functions have a caller too. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "export/export.h"
#include "export/labels.h"

#define START	"[start]"
#define UNKNOWN "???" /* as callgrind itself writes it */

static const struct event {
	const char *name;
	const char *text;
	enum figure figure;
	bool blocks;
} events[] = {
	{"peak_bytes", "bytes live at the peak", FIGURE_PEAK, false},
	{"peak_blocks", "blocks live at the peak", FIGURE_PEAK, true},
	{"leaked_bytes", "bytes live at the end", FIGURE_LEAKED, false},
	{"leaked_blocks", "blocks live at the end", FIGURE_LEAKED, true},
	{"allocated_bytes", "bytes ever allocated", FIGURE_ALLOCATED, false},
	{"calls", "allocations", FIGURE_CALLS, true},
	{"temporary", "temporary allocations", FIGURE_TEMPORARY, true},
};
#define EVENT_COUNT (sizeof(events) / sizeof(*events))

/* What a line costs itself, or through its calls of one function. */
struct line {
	uint32_t frame;
	uint32_t callee; /* a function + 1; 0: the line itself */
	uint64_t calls;
	uint64_t costs[EVENT_COUNT];
};

struct writer {
	FILE *out;
	const struct model *model;
	const char *directory;
	struct labels *labels;
	uint32_t start;			 /* the frame above all, one more than the model has */
	struct event order[EVENT_COUNT]; /* as they are written */
	VEC(struct line) lines;
	struct map index;
	uint32_t *last_site; /* by function: the site that it was counted for last, + 1 */
	uint32_t *file;	     /* by function: a frame that has its file */
	struct map objects, files, functions; /* numbers of the names that are written */
	struct map owners;		      /* by name: the function that has it, + 1 */
};

/* The events of the figure that was asked for come first: readers sort by them. */
static void order_events(struct writer *w, enum figure first)
{
	size_t count = 0;

	for (unsigned other = 0; other < 2; other++)
		for (size_t i = 0; i < EVENT_COUNT; i++)
			if ((events[i].figure != first) == other)
				w->order[count++] = events[i];
}

static struct line *find_line(struct writer *w, uint32_t frame, uint32_t callee)
{
	uint32_t *line = map_reserve(&w->index, (uint64_t)frame << 32 | callee);

	if (*line == 0) {
		*vec_push(&w->lines) = (struct line){.frame = frame, .callee = callee};
		*line = (uint32_t)w->lines.count;
	}
	return &w->lines.at[*line - 1];
}

static void add_costs(struct line *line, const uint64_t *costs, uint64_t calls)
{
	for (size_t i = 0; i < EVENT_COUNT; i++)
		line->costs[i] += costs[i];
	/* Readers take a call that was made 0 times for no call. */
	line->calls += calls ? calls : 1;
}

static void add_stack(struct writer *w, uint32_t site, const struct model_stack *stack,
		      const uint64_t *costs)
{
	uint64_t calls = model_get_profile(w->model)->sites.at[site].allocations;
	uint32_t caller = w->start;

	for (size_t i = stack->frames.count; i-- > 0;) {
		uint32_t function = model_get_frame(w->model, stack->frames.at[i])->group;
		if (w->last_site[function] != site + 1)
			add_costs(find_line(w, caller, function + 1), costs, calls);
		w->last_site[function] = site + 1;
		caller = stack->frames.at[i];
	}
	add_costs(find_line(w, caller, 0), costs, calls);
}

static void list_lines(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	struct model_stack stack = {0};

	for (uint32_t i = 0; i < p->sites.count; i++) {
		uint64_t costs[EVENT_COUNT];
		for (size_t k = 0; k < EVENT_COUNT; k++) {
			struct amount a = figure_get(&p->sites.at[i], w->order[k].figure);
			costs[k] = w->order[k].blocks ? a.blocks : a.bytes;
		}
		model_get_stack(w->model, i, &stack);
		add_stack(w, i, &stack, costs);
	}
	vec_free(&stack.frames);
}

/* Frames are numbered by function, file and line: so the lines of a function come together. */
static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

/* A function has one file to be named by, the first that is known; lines of other files say so. */
static void choose_files(struct writer *w)
{
	for (uint32_t i = 0; i < w->start; i++) {
		uint32_t function = model_get_frame(w->model, i)->group;
		if (i == function || !*model_get_frame(w->model, w->file[function])->file)
			w->file[function] = i;
	}
}

/* Writes a name the first time, and its number alone from then on. */
static void put_name(struct writer *w, struct map *numbers, uint64_t key, const char *name)
{
	uint32_t *number = map_reserve(numbers, key);

	if (*number) {
		fprintf(w->out, "(%" PRIu32 ")\n", *number);
		return;
	}
	*number = (uint32_t)numbers->count;
	char *clean = labels_clean(name, "");
	bool is_blank = clean[strspn(clean, " ")] == '\0';
	fprintf(w->out, "(%" PRIu32 ") %s\n", *number, is_blank ? UNKNOWN : clean);
	free(clean);
}

static void put_function(struct writer *w, uint32_t function)
{
	const char *name = labels_get(w->labels, function);
	uint32_t *owner = map_reserve(&w->owners, map_hash_text(name));

	if (*owner == 0)
		*owner = function + 1;
	if (*owner == function + 1) {
		put_name(w, &w->functions, function, name);
		return;
	}
	/* Readers tell functions apart by their names, which several modules may use. */
	const char *module = model_get_frame(w->model, function)->module;
	char *longer = mem_format("%s [%s]", name, module);
	put_name(w, &w->functions, function, longer);
	free(longer);
}

/* Files below the directory in which the program ran are named from there: callgrind_annotate
 * shortens the paths of functions in this way, but not those of the called ones. */
static void put_file(struct writer *w, const char *path)
{
	size_t length = strlen(w->directory);
	const char *name = path;

	if (length > 1 && strncmp(path, w->directory, length) == 0 && path[length] == '/')
		name = path + length + 1;
	put_name(w, &w->files, (uintptr_t)path, name);
}

static void put_costs(struct writer *w, const uint64_t *costs)
{
	for (size_t i = 0; i < EVENT_COUNT; i++)
		fprintf(w->out, " %" PRIu64, costs[i]);
	fputc('\n', w->out);
}

static void write_line(struct writer *w, const struct line *line)
{
	uint32_t number = line->frame < w->start ? model_get_frame(w->model, line->frame)->line : 0;

	if (line->callee) {
		uint32_t callee = line->callee - 1;
		const struct model_frame *f = model_get_frame(w->model, w->file[callee]);
		fputs("cob=", w->out);
		put_name(w, &w->objects, (uintptr_t)f->module, f->module);
		fputs("cfi=", w->out);
		put_file(w, f->file);
		fputs("cfn=", w->out);
		put_function(w, callee);
		fprintf(w->out, "calls=%" PRIu64 " %" PRIu32 "\n", line->calls, f->line);
	}
	fprintf(w->out, "%" PRIu32, number);
	put_costs(w, line->costs);
}

static void write_function(struct writer *w, const struct model_frame *f)
{
	fputs("\nob=", w->out);
	put_name(w, &w->objects, (uintptr_t)f->module, f->module);
	fputs("fl=", w->out);
	put_file(w, model_get_frame(w->model, w->file[f->group])->file);
	fputs("fn=", w->out);
	put_function(w, f->group);
}

static void write_start(struct writer *w)
{
	fprintf(w->out, "\nob=" UNKNOWN "\nfl=" UNKNOWN "\nfn=" START "\n");
}

static void write_lines(struct writer *w)
{
	const struct model_frame *last = NULL;
	const char *file = NULL; /* the one that the lines are taken to be in */

	for (size_t i = 0; i < w->lines.count; i++) {
		const struct line *line = &w->lines.at[i];
		if (line->frame == w->start) {
			if (i == 0 || w->lines.at[i - 1].frame != w->start)
				write_start(w);
			write_line(w, line);
			continue;
		}
		const struct model_frame *f = model_get_frame(w->model, line->frame);
		if (!last || f->group != last->group) {
			write_function(w, f);
			file = model_get_frame(w->model, w->file[f->group])->file;
		}
		if (strcmp(f->file, file) != 0) {
			fputs("fi=", w->out);
			put_file(w, f->file);
			file = f->file;
		}
		write_line(w, line);
		last = f;
	}
}

static void write_head(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	char *command = labels_clean(profile_string(p, p->run.command), "");

	fprintf(w->out, "# callgrind format\nversion: 1\ncreator: midden %s\n", MIDDEN_VERSION);
	fprintf(w->out, "pid: %" PRIu32 "\ncmd: %s\npositions: line\n", p->run.pid,
		*command ? command : UNKNOWN);
	for (size_t i = 0; i < EVENT_COUNT; i++)
		fprintf(w->out, "event: %s : %s\n", w->order[i].name, w->order[i].text);
	fputs("events:", w->out);
	for (size_t i = 0; i < EVENT_COUNT; i++)
		fprintf(w->out, " %s", w->order[i].name);
	fputc('\n', w->out);
	free(command);
}

static void write_totals(struct writer *w)
{
	uint64_t totals[EVENT_COUNT] = {0};

	for (size_t i = 0; i < w->lines.count; i++)
		for (size_t k = 0; k < EVENT_COUNT && !w->lines.at[i].callee; k++)
			totals[k] += w->lines.at[i].costs[k];
	fputs("\ntotals:", w->out);
	put_costs(w, totals);
}

static void free_writer(struct writer *w)
{
	labels_free(w->labels);
	vec_free(&w->lines);
	free(w->last_site);
	free(w->file);
	map_free(&w->index);
	map_free(&w->objects);
	map_free(&w->files);
	map_free(&w->functions);
	map_free(&w->owners);
}

static int write_callgrind(FILE *out, const struct export_request *r, struct error *e)
{
	const struct profile *p = model_get_profile(r->model);
	size_t frames = model_get_frame_count(r->model);
	struct writer w = {
		.out = out,
		.model = r->model,
		.directory = profile_string(p, p->run.directory),
		.labels = labels_new(r->model, ""),
		.start = (uint32_t)frames,
		.last_site = mem_new(frames, sizeof(*w.last_site)),
		.file = mem_new(frames, sizeof(*w.file)),
	};

	(void)e;
	order_events(&w, r->figure);
	choose_files(&w);
	list_lines(&w);
	if (w.lines.count)
		qsort(w.lines.at, w.lines.count, sizeof(*w.lines.at), compare_lines);
	write_head(&w);
	write_lines(&w);
	write_totals(&w);
	free_writer(&w);
	return 0;
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.summary = "the call graph with all figures: callgrind_annotate, KCachegrind",
	.suffix = ".callgrind",
	.write = write_callgrind,
};
