/* lookup.c -- functions and lines of many addresses in many files, on all cores.
 * Runs: offline; starts threads and has joined them when it returns. Called by resolve.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread opens a file and takes one batch of addresses after the other. When no file is left that
 * nobody has opened, it helps with one that has debug information: it opens it once more, since
 * libdw serves one thread at a time. Symbol tables are not worth a second reading. */
#define _GNU_SOURCE
#include "model/lookup.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/map.h"

#define THREADS_MOST 64u
#define STACK_BYTES  ((size_t)8 << 20) /* demanglers recurse */
#define HELP_WORTH   2u /* batches: for fewer, opening a file again takes longer than it saves */

enum stage { FILE_UNTOUCHED, FILE_OPENING, FILE_ALONE, FILE_SHARED };

struct work {
	struct lookup_file *files;
	size_t count;
	const struct lookup_options *options;
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t opened;
	enum stage *stages; /* by file */
	size_t *next;	    /* by file: the first batch that nobody has taken */
	size_t done;	    /* addresses */
	size_t total;
};

/* ---- one address ----------------------------------------------------------------------------- */

struct worker {
	struct symbol_module *module;
	struct lookup_batch *batch;
	struct map known; /* address of a text -> its number in the batch */
};

static uint32_t add_text(struct worker *w, const char *text)
{
	struct lookup_batch *b = w->batch;

	if (!text || !*text)
		return 0;
	/* The module keeps its strings in place, so the same text is the same address. */
	uint32_t *number = map_reserve(&w->known, (uintptr_t)text);
	if (!*number) {
		size_t bytes = strlen(text) + 1;

		*vec_push(&b->strings) = b->text.count;
		vec_reserve(&b->text, bytes);
		memcpy(b->text.at + b->text.count, text, bytes);
		b->text.count += bytes;
		*number = (uint32_t)b->strings.count - 1;
	}
	return *number;
}

static void look_up_address(struct worker *w, uint64_t address)
{
	const struct symbol_frame *found;
	size_t count = symbol_find(w->module, address, &found);

	for (size_t i = 0; i < count; i++)
		*vec_push(&w->batch->frames) = (struct lookup_frame){
			.function = add_text(w, found[i].function),
			.file = add_text(w, found[i].file),
			.line = found[i].line,
		};
	*vec_push(&w->batch->ends) = w->batch->frames.count;
}

static size_t batch_end(const struct lookup_file *f, size_t batch)
{
	size_t end = (batch + 1) * LOOKUP_BATCH;

	return end < f->count ? end : f->count;
}

static void look_up_batch(struct symbol_module *m, struct lookup_file *f, size_t batch)
{
	struct worker w = {.module = m, .batch = &f->batches[batch]};

	*vec_push(&w.batch->strings) = 0; /* number 0 is "" */
	*vec_push(&w.batch->text) = '\0';
	for (size_t i = batch * LOOKUP_BATCH; i < batch_end(f, batch); i++)
		look_up_address(&w, f->addresses[i]);
	map_free(&w.known);
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool is_vdso(const char *path)
{
	return strcmp(path, "[vdso]") == 0 || strcmp(path, "linux-vdso.so.1") == 0 ||
	       strcmp(path, "linux-gate.so.1") == 0;
}

static struct symbol_module *open_file(const struct work *w, const struct lookup_file *f,
				       struct error *e)
{
	if (is_vdso(f->path))
		return symbol_open_vdso(f->build_id, f->build_id_bytes, e);
	return symbol_open(f->path, f->build_id, f->build_id_bytes, w->options->symbols, e);
}

static char *copy_text(const char *text)
{
	return text ? mem_copy_string(text) : NULL;
}

/* Only its first reader writes to a file's own members. Returns whether others should help: what
 * was open before is at hand sooner than a second one could be opened. */
static bool note_opened(struct lookup_file *f, const struct symbol_module *m)
{
	struct symbol_files files;

	symbol_get_files(m, &files);
	f->opened = true;
	f->object = copy_text(files.object);
	f->debug = copy_text(files.debug);
	f->has_dwarf = files.has_dwarf;
	return files.has_dwarf && !files.was_open;
}

static bool take_batch(struct work *w, size_t file, size_t *batch)
{
	pthread_mutex_lock(&w->lock);
	*batch = w->next[file];
	bool left = *batch < w->files[file].batch_count;
	if (left)
		w->next[file]++;
	pthread_mutex_unlock(&w->lock);
	return left;
}

static void note_done(struct work *w, size_t addresses)
{
	pthread_mutex_lock(&w->lock);
	w->done += addresses;
	if (w->options->progress)
		w->options->progress(w->options->context, w->done, w->total);
	pthread_mutex_unlock(&w->lock);
}

static void set_stage(struct work *w, size_t file, enum stage stage)
{
	pthread_mutex_lock(&w->lock);
	w->stages[file] = stage;
	pthread_cond_broadcast(&w->opened);
	pthread_mutex_unlock(&w->lock);
}

static void read_file(struct work *w, size_t file, bool first)
{
	struct lookup_file *f = &w->files[file];
	struct error ignored = {0};
	struct symbol_module *m = open_file(w, f, first ? &f->error : &ignored);
	size_t batch;

	bool is_slow = first && m && note_opened(f, m);
	if (first)
		set_stage(w, file, is_slow ? FILE_SHARED : FILE_ALONE);
	else if (!m)
		set_stage(w, file, FILE_ALONE); /* gone in between: the first one has it open */
	if (first && !m)
		note_done(w, f->count);
	while (m && take_batch(w, file, &batch)) {
		look_up_batch(m, f, batch);
		note_done(w, batch_end(f, batch) - batch * LOOKUP_BATCH);
	}
	symbol_close(m);
}

/* ---- all files ------------------------------------------------------------------------------- */

/* The largest file that nobody has begun; otherwise one in which help is wanted. Under the lock. */
static size_t choose_file(const struct work *w)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < w->count; i++)
		if (w->stages[i] == FILE_UNTOUCHED &&
		    (best == SIZE_MAX || w->files[i].count > w->files[best].count))
			best = i;
	for (size_t i = 0; best == SIZE_MAX && i < w->count; i++)
		if (w->stages[i] == FILE_SHARED &&
		    w->next[i] + HELP_WORTH <= w->files[i].batch_count)
			best = i;
	return best;
}

static bool is_any_opening(const struct work *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->stages[i] == FILE_OPENING)
			return true;
	return false;
}

/* SIZE_MAX: there is nothing left to begin. A file that is being opened may turn out to need help.
 */
static size_t begin_file(struct work *w, bool *first)
{
	size_t file;

	pthread_mutex_lock(&w->lock);
	while ((file = choose_file(w)) == SIZE_MAX && is_any_opening(w))
		pthread_cond_wait(&w->opened, &w->lock);
	*first = file != SIZE_MAX && w->stages[file] == FILE_UNTOUCHED;
	if (*first)
		w->stages[file] = FILE_OPENING;
	pthread_mutex_unlock(&w->lock);
	return file;
}

static void *run_worker(void *argument)
{
	struct work *w = argument;
	size_t file;
	bool first;

	while ((file = begin_file(w, &first)) != SIZE_MAX)
		read_file(w, file, first);
	return NULL;
}

static unsigned count_cores(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* How many threads have something to do. */
static unsigned choose_threads(const struct work *w)
{
	unsigned most = w->options->threads ? w->options->threads : count_cores();
	size_t batches = 0;

	for (size_t i = 0; i < w->count; i++)
		batches += w->files[i].batch_count;
	if (most > THREADS_MOST)
		most = THREADS_MOST;
	return batches < most ? (unsigned)batches : most;
}

/* Signals stay with the thread that the caller knows. Where no more threads are to be had, fewer do
 * the work. A stack of libc's choice would follow the limit that the user set for the program. */
static unsigned start_threads(struct work *w, pthread_t *threads, unsigned wanted)
{
	sigset_t all, before;
	unsigned started = 0;
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes))
		return 0;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < wanted &&
	       pthread_create(&threads[started], &attributes, run_worker, w) == 0)
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return started;
}

static void prepare(struct work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct lookup_file *f = &w->files[i];

		f->batch_count = (f->count + LOOKUP_BATCH - 1) / LOOKUP_BATCH;
		f->batches = mem_new(f->batch_count, sizeof(*f->batches));
		w->total += f->count;
	}
}

void lookup_run(struct lookup_file *files, size_t count, const struct lookup_options *options)
{
	pthread_t threads[THREADS_MOST];
	struct work w = {
		.files = files,
		.count = count,
		.options = options,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.opened = PTHREAD_COND_INITIALIZER,
		.stages = mem_new(count, sizeof(*w.stages)),
		.next = mem_new(count, sizeof(*w.next)),
	};

	prepare(&w);
	unsigned wanted = choose_threads(&w);
	unsigned started = start_threads(&w, threads, wanted);
	if (started < wanted)
		run_worker(&w);
	while (started-- > 0)
		pthread_join(threads[started], NULL);
	pthread_mutex_destroy(&w.lock);
	pthread_cond_destroy(&w.opened);
	free(w.stages);
	free(w.next);
}

static void free_batch(struct lookup_batch *b)
{
	vec_free(&b->frames);
	vec_free(&b->ends);
	vec_free(&b->strings);
	vec_free(&b->text);
}

void lookup_fini(struct lookup_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < files[i].batch_count; k++)
			free_batch(&files[i].batches[k]);
		free(files[i].batches);
		free(files[i].object);
		free(files[i].debug);
	}
}
