/* python.c -- stacks of Python programs: its functions and lines, and the native code below them.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Native frames may be the same while those of Python have changed: since 3.11 one evaluation loop
 * runs functions that call each other. So the memo of the last walk (memo.h) does not do here.
 * Instead all frames of Python are read each time, two or three words each, and compared with the
 * last ones from the root on; only what differs is looked up. */
#include "capture/python.h"

#include "capture/dynsym.h"
#include "capture/modules.h"
#include "capture/pcs.h"
#include "capture/peek.h"
#include "capture/pymalloc.h"
#include "capture/python_frames.h"
#include "capture/python_names.h"
#include "capture/say.h"
#include "capture/stacktree.h"
#include "capture/walk_goal.h"

#define FORGET_WALKS 4096 /* after so many, pages are asked for again: see python_reads.h */

static struct python_interpreter interpreter;

/* A frame of the last walk, with its place in the tree. */
struct seen {
	struct python_name name;
	uint32_t node;
	uint32_t hash; /* of the path to `node`: see stacktree.h */
};

struct python_thread {
	struct python_reads reads;
	uint32_t walks;
	uint32_t count;		    /* of `seen` */
	struct seen *seen;	    /* root first */
	struct python_frame *fresh; /* of the walk under way, leaf first */
	char text[PYTHON_NAMES_TEXT];
};

size_t python_bytes(uint32_t depth)
{
	size_t bytes = sizeof(struct python_thread) +
		       depth * (sizeof(struct seen) + sizeof(struct python_frame));

	return (bytes + 63) & ~(size_t)63;
}

/* ---- finding one ----------------------------------------------------------------------------- */

/* 0x030b for 3.11; 0 if it does not say. */
static uint32_t find_version(const struct dynsym *d)
{
	uint64_t version = dynsym_find(d, "Py_Version", NULL);
	uint64_t text = dynsym_find(d, "Py_GetVersion", NULL);
	uint64_t hex;

	if (version && peek_strictly(version, &hex, sizeof(hex)))
		return (uint32_t)hex >> 16;
	if (!text)
		return 0;
	/* Prints into a buffer of its own, nothing else. "3.9.18 (main, ..." */
	const char *words = ((const char *(*)(void))(uintptr_t)text)(); /* NOLINT */
	uint32_t minor = 0;
	for (unsigned i = 2; words[i] >= '0' && words[i] <= '9' && i < 5; i++)
		minor = minor * 10 + (uint32_t)(words[i] - '0');
	return words[0] == '3' && words[1] == '.' ? 0x0300 | minor : 0;
}

static bool describe(const struct dynsym *d, struct python_interpreter *i)
{
	uint64_t current = dynsym_find(d, "_PyThreadState_UncheckedGet", NULL);
	uint64_t finalizing = dynsym_find(d, "_Py_IsFinalizing", NULL);
	uint64_t own = dynsym_find(d, "PyGILState_GetThisThreadState", NULL);

	if (!current)
		current = dynsym_find(d, "PyThreadState_GetUnchecked", NULL);
	if (!finalizing)
		finalizing = dynsym_find(d, "Py_IsFinalizing", NULL);
	i->code_type = dynsym_find(d, "PyCode_Type", NULL);
	i->text_type = dynsym_find(d, "PyUnicode_Type", NULL);
	i->bytes_type = dynsym_find(d, "PyBytes_Type", NULL);
	i->eval_start = dynsym_find(d, "_PyEval_EvalFrameDefault", &i->eval_bytes);
	i->get_own = (void *(*)(void))(uintptr_t)own;		 /* NOLINT */
	i->get_current = (void *(*)(void))(uintptr_t)current;	 /* NOLINT */
	i->is_finalizing = (int (*)(void))(uintptr_t)finalizing; /* NOLINT */
	i->o = python_offsets_find(find_version(d));
	return own && i->code_type && i->text_type && i->bytes_type && i->o;
}

static void stay_native(const char *why)
{
	atomic_store(&process->python, PYTHON_OFF);
	say(why);
}

static const char unknown[] = "this Python is not one that midden can read: native stacks only";
static const char free_threaded[] =
	"this Python runs threads without a GIL, and midden cannot read its frames: "
	"native stacks only";

void python_look_at(uint32_t module, const struct image *image, const struct image_headers *headers)
{
	struct python_interpreter i = {.module = module};
	uint32_t none = PYTHON_NONE;
	struct dynsym d;

	if (atomic_load(&process->python) != PYTHON_NONE || !dynsym_open(image, headers, &d))
		return;
	i.runtime = dynsym_find(&d, "_PyRuntime", NULL);
	if (!i.runtime || !atomic_compare_exchange_strong(&process->python, &none, PYTHON_FINDING))
		return;
	bool is_free_threaded = python_offsets_is_free_threaded(find_version(&d), i.runtime);
	pymalloc_install(&d, is_free_threaded);
	if (process->header->python == SEGMENT_PYTHON_OFF) {
		atomic_store(&process->python, PYTHON_OFF);
		return;
	}
	if (is_free_threaded) {
		stay_native(free_threaded);
		return;
	}
	if (!describe(&d, &i) || !python_offsets_check(i.o, i.code_type) ||
	    !python_offsets_check_runtime(i.o, i.runtime)) {
		stay_native(unknown);
		return;
	}
	interpreter = i;
	/* Pairs with the acquire in python_is_here. */
	atomic_store_explicit(&process->python, PYTHON_FOUND, memory_order_release);
	/* What threads remember of their last walks is not all any more. */
	atomic_fetch_add(&modules_generation, 1);
}

/* ---- the thread's frames --------------------------------------------------------------------- */

static struct python_thread *get_thread(struct thread *t)
{
	struct python_thread *p = t->python;

	if (unlikely(!t->python_ready)) {
		python_reads_forget(&p->reads);
		p->walks = p->count = 0;
		p->seen = (struct seen *)(void *)(p + 1);
		p->fresh = (struct python_frame *)(void *)(p->seen + t->max_depth);
		t->python_ready = true;
	}
	if (unlikely(++p->walks % FORGET_WALKS == 0))
		python_reads_forget(&p->reads);
	return p;
}

/* The thread state of the calling thread, 0 if it has none. Up to 3.11 a thread that has several
 * (sub-interpreters) has its first one noted: the one that runs may be another. While the
 * interpreter ends, states of threads that still run are freed: only who holds the GIL is safe. */
static uint64_t find_thread_state(const struct python_interpreter *i, struct python_reads *r)
{
	uint64_t own = (uint64_t)(uintptr_t)i->get_own();
	uint64_t current = i->get_current ? (uint64_t)(uintptr_t)i->get_current() : 0;
	uint32_t id = i->o->thread_id;

	if (!own || current == own)
		return own;
	if (i->is_finalizing && i->is_finalizing())
		return 0;
	if (i->o->version <= 0x030b && current && !(current & 7) &&
	    python_reads_has(r, current, 256) && python_reads_has(r, own, 256) &&
	    python_reads_word(current + id) == python_reads_word(own + id))
		return current;
	return own;
}

/* Whether the first frames that are seen are what they should be, all the way to the root. */
static NOINLINE bool passes_test(struct python_chain c, const struct python_namer *n)
{
	struct python_frame f;
	uint32_t count = 0;
	bool last;

	for (; python_frames_next(&c, &f, &last); count++)
		if (!python_names_check(n, f.code))
			c.lost = true;
	if (c.lost)
		stay_native(unknown);
	else if (count)
		atomic_store(&process->python, PYTHON_ON);
	pymalloc_check();
	return count && !c.lost;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* A walk under way. */
struct python_walk {
	struct walk_goal goal; /* first: what walk_goal.h hands back */
	struct thread *t;
	struct python_thread *p;
	struct python_namer namer;
	struct python_chain chain; /* at the innermost frame */
	struct python_chain rest;  /* what has not been kept yet */
	struct walk_sink sink;
	bool empty; /* no frame of Python has been kept */
};

static void aim(struct python_walk *w)
{
	w->goal.address = python_frames_find_activation(&w->rest);
	w->goal.code_start = interpreter.eval_start;
	w->goal.code_bytes = w->rest.at ? interpreter.eval_bytes : 0;
}

static void start_over(struct python_walk *w)
{
	walk_sink_init(&w->sink, w->t);
	w->rest = w->chain;
	w->goal.reached = false;
	aim(w);
}

/* Native frames up to the goal, or past all goals to the root. */
static void walk_native(struct python_walk *w, const struct walk_start *start)
{
	start_over(w);
	if (likely(walk_to_goal(w->t, start, &w->goal, &w->sink)))
		return;
	start_over(w);
	walk_full_to_goal(w->t, start, &w->goal, &w->sink);
}

static void keep_frame(struct python_walk *w, const struct python_frame *f)
{
	struct python_name name = {.frame = *f};

	python_names_find(&w->namer, &name);
	walk_sink_keep(&w->sink, name.place);
}

static void keep_lost(struct python_walk *w)
{
	if (!w->rest.lost)
		return;
	walk_sink_keep(&w->sink, SEGMENT_NODE_CUT);
	thread_count(&w->t->slot->losses.truncated_stacks);
}

/* All frames of Python that are left, one after another. */
static void keep_rest(struct python_walk *w)
{
	struct python_frame f;
	bool last;

	while (python_frames_next(&w->rest, &f, &last))
		keep_frame(w, &f);
	keep_lost(w);
}

/* In place of an evaluation loop's frame: those that it runs. */
static bool keep_activation(struct walk_goal *goal, struct walk_sink *sink)
{
	struct python_walk *w = (struct python_walk *)(void *)goal;
	struct python_frame f;
	bool last = python_frames_leave_bare(&w->rest);

	(void)sink;
	while (!last && python_frames_next(&w->rest, &f, &last))
		keep_frame(w, &f);
	keep_lost(w);
	aim(w);
	return true;
}

static uint32_t finish(struct python_walk *w)
{
	uint32_t count = walk_sink_finish(&w->sink, &w->t->slot->losses);

	return stacktree_intern(w->t, count);
}

/* ---- what has changed since the last one ----------------------------------------------------- */

static uint32_t count_kept(const struct python_walk *w, uint32_t count)
{
	const struct python_thread *p = w->p;
	uint32_t kept = 0;

	while (kept < count && kept < p->count &&
	       python_names_is(&w->namer, &p->seen[kept].name, &p->fresh[count - 1 - kept]))
		kept++;
	return kept;
}

/* Names the frames from `kept` on and puts their places behind those of `native` frames, leaf
 * first; gives each the hash of its path. */
static void name_frames(struct python_walk *w, uint32_t native, uint32_t count, uint32_t kept)
{
	struct python_thread *p = w->p;
	uint32_t hash = kept ? p->seen[kept - 1].hash : 0;

	for (uint32_t i = kept; i < count; i++) {
		struct seen *s = &p->seen[i];

		s->name.frame = p->fresh[count - 1 - i];
		python_names_find(&w->namer, &s->name);
		hash = stacktree_hash(hash, s->name.place);
		s->hash = hash;
		w->t->frames[native + count - 1 - i] = s->name.place;
	}
	p->count = count;
}

/* The node of `native` frames in t->frames below the `count` ones in p->fresh. */
static uint32_t intern(struct python_walk *w, uint32_t native, uint32_t count)
{
	struct python_thread *p = w->p;
	const struct stacktree tree = stacktree_get();
	uint32_t kept = count_kept(w, count);

	name_frames(w, native, count, kept);
	const struct stacktree_run run = {.outer = kept ? p->seen[kept - 1].node : 0,
					  .outer_hash = kept ? p->seen[kept - 1].hash : 0,
					  .places = w->t->frames,
					  .count = native + count - kept};
	uint32_t hash = p->seen[count - 1].hash;
	bool full = false;

	for (uint32_t i = native; i-- > 0;)
		hash = stacktree_hash(hash, w->t->frames[i]);
	uint32_t leaf = run.count ? stacktree_find(&tree, &run, hash) : run.outer;
	if (!leaf)
		leaf = stacktree_add(w->t, &tree, &run, &full);
	if (unlikely(full)) {
		p->count = 0; /* the frames do not all have nodes */
		return leaf;
	}
	uint32_t node = leaf;
	for (uint32_t i = 0; i < native; i++)
		node = segment_node_parent(tree.nodes, node);
	for (uint32_t i = count; i-- > kept; node = segment_node_parent(tree.nodes, node))
		p->seen[i].node = node;
	return leaf;
}

/* Native frames, if they are wanted, below all those of Python. */
static uint32_t walk_below(struct python_walk *w, const struct walk_start *start, bool native)
{
	struct python_chain c = w->chain;
	uint32_t count = python_frames_read(&c, w->p->fresh, w->t->max_depth);
	bool all = !c.at && !c.lost;

	start_over(w);
	if (native) {
		walk_native(w, start);
		if (!w->goal.reached)
			return finish(w); /* not where it should be: all of it is native */
	}
	bool fits = w->sink.count < w->sink.leaf_room && w->sink.count + count <= w->t->max_depth;
	if (likely(all && count && fits))
		return intern(w, w->sink.count, count);
	w->p->count = 0;
	keep_rest(w);
	return finish(w);
}

/* Whether the interpreter itself allocates: nothing else is below the innermost frame. */
static bool is_own_allocation(const struct python_walk *w)
{
	const struct pcs places = pcs_get();

	if (!w->goal.reached || w->sink.count >= w->sink.leaf_room)
		return false;
	for (uint32_t i = 0; i < w->sink.count; i++)
		if (places.at[w->t->frames[i] & SEGMENT_NODE_PLACE_MASK].module !=
		    interpreter.module)
			return false;
	return true;
}

static uint32_t walk_between(struct python_walk *w, const struct walk_start *start)
{
	w->goal.arrive = keep_activation;
	walk_native(w, start);
	return finish(w);
}

bool python_walk(struct thread *t, const struct walk_start *start, uint32_t *node)
{
	struct python_thread *p = get_thread(t);
	struct python_walk w = {
		.t = t,
		.p = p,
		.namer = {.i = &interpreter, .reads = &p->reads, .text = p->text},
	};
	uint64_t state = find_thread_state(&interpreter, &p->reads);

	if (!state)
		return false;
	python_frames_begin(&w.chain, &interpreter, &p->reads, state);
	if (!w.chain.at)
		return false;
	if (unlikely(atomic_load_explicit(&process->python, memory_order_relaxed) ==
		     PYTHON_FOUND) &&
	    !passes_test(w.chain, &w.namer))
		return false;
	uint32_t mode = process->header->python;
	if (mode == SEGMENT_PYTHON_DOMAINS) {
		walk_native(&w, start);
		if (!is_own_allocation(&w))
			return false;
	}
	if (mode == SEGMENT_PYTHON_FULL)
		*node = walk_between(&w, start);
	else
		*node = walk_below(&w, start, mode == SEGMENT_PYTHON_MIXED);
	return true;
}
