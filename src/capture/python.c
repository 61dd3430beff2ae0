/* python.c -- stacks of Python programs: its functions and lines, and the native code below them.
 * Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Native frames may be the same while those of Python have changed: since 3.11 one evaluation loop
 * runs functions that call each other. So the memo of the last walk (memo.h) does not do here.
 * There is one for the frames of Python instead (python_memo.h), and one for what is native below
 * them (python_leaf.h). Stacks that are too deep for them, and those with native frames between,
 * are walked one frame after another. */
#include "capture/python.h"

#include <sys/auxv.h>

#include "capture/dynsym.h"
#include "capture/loadlist.h"
#include "capture/modules.h"
#include "capture/pcs.h"
#include "capture/peek.h"
#include "capture/pymalloc.h"
#include "capture/python_frames.h"
#include "capture/python_leaf.h"
#include "capture/python_memo.h"
#include "capture/python_names.h"
#include "capture/python_quick.h"
#include "capture/say.h"
#include "capture/stacktree.h"
#include "capture/walk_goal.h"

#define FORGET_WALKS 4096 /* after so many, pages are asked for again: see python_reads.h */

static struct python_interpreter interpreter;
static _Atomic uint32_t interpreter_generation; /* of the modules, when it was last seen there */

struct python_thread {
	struct python_quick quick; /* and what it remembers */
	struct python_names_mark marks[1 << PYTHON_NAMES_MARK_BITS];
	char text[PYTHON_NAMES_TEXT];
};

/* It begins at a cache line. */
size_t python_bytes(uint32_t depth)
{
	size_t bytes = sizeof(struct python_thread) + python_memo_bytes(depth);

	return (bytes + 127) & ~(size_t)63;
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

static const char second[] = "this is the second Python of the process: native stacks only";

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
	if (!python_memo_count_codes(i.code_type)) {
		stay_native(second);
		return;
	}
	interpreter = i;
	atomic_store(&interpreter_generation, 0);
	/* Pairs with the acquire in python_is_here. */
	atomic_store_explicit(&process->python, PYTHON_FOUND, memory_order_release);
	/* What threads remember of their last walks is not all any more. */
	atomic_fetch_add(&modules_generation, 1);
}

void python_seek(void)
{
	const struct segment_header *h = process->header;
	struct module_span span;

	if (h->mode != SEGMENT_MODE_SAMPLE || h->pymalloc == SEGMENT_PYMALLOC_OFF)
		return;
	/* An object is looked at when it is registered. (To ask the loader for a symbol that it
	 * does not have would make it allocate.) */
	(void)modules_find(getauxval(AT_PHDR), &span);
	uint64_t library = loadlist_find_named("libpython3");
	if (library)
		(void)modules_find(library, &span);
}

/* ---- the thread's frames --------------------------------------------------------------------- */

static struct python_thread *get_thread(struct thread *t)
{
	struct python_thread *p = t->python;

	if (unlikely(!t->python_quick)) {
		python_reads_forget(&p->quick.reads);
		python_leaf_forget(&p->quick.leaves);
		python_memo_init(&p->quick.memo, t->max_depth, p + 1);
		__builtin_memset(p->marks, 0, sizeof(p->marks));
		python_quick_init(&p->quick, &interpreter, t->max_depth);
		p->quick.left = FORGET_WALKS;
		t->python_quick = &p->quick;
	}
	if (unlikely(p->quick.left == 0)) {
		python_reads_forget(&p->quick.reads);
		python_memo_keep(&p->quick.memo, 0); /* its frames are read without asking */
		p->quick.left = FORGET_WALKS;
		p->quick.generation = 0;
	}
	p->quick.left--;
	p->quick.is_refused = false;
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
	struct python_leaf *leaf; /* what is native, if that is known */
};

/* At the loop that runs what is left, by an address in its frame or, where that is 0, its code. */
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
	w->goal.count = 0;
	w->goal.is_odd = false;
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

/* Native frames below the innermost Python function. False: they do not lead to it. */
static bool find_leaf(struct python_walk *w, const struct walk_start *start, uint64_t goal)
{
	struct python_thread *p = w->p;

	if (likely(!(start->sp & 7) && stackrange_covers(&w->t->stack, start->sp)))
		w->leaf = python_leaf_find(&p->quick.leaves, start, goal, w->t->stack.high);
	if (likely(w->leaf))
		return true;
	w->goal = (struct walk_goal){0};
	w->goal.frames = w->t->memo.fresh;
	w->goal.room = w->t->memo.room;
	walk_native(w, start);
	w->goal.room = 0;
	w->leaf = python_leaf_note(&p->quick.leaves, start, &w->goal);
	return w->goal.reached;
}

/* The number of native frames, whose places are then at the start of t->frames. */
static uint32_t list_leaf(const struct python_walk *w)
{
	if (!w->leaf)
		return w->sink.count;
	__builtin_memcpy(w->t->frames, w->leaf->places, w->leaf->place_count * sizeof(uint32_t));
	return w->leaf->place_count;
}

/* The node of the native frames below the Python frames that were read. */
static NOINLINE uint32_t intern(struct python_walk *w, const struct python_memo_walk *read)
{
	struct python_memo *m = &w->p->quick.memo;
	const struct python_memo_frame *leaf = python_memo_leaf(m, read);
	const struct python_memo_frame none = {0};
	const struct python_memo_frame *outer = read->is_known ? leaf
						: read->kept   ? &m->frames[read->kept - 1]
							       : &none;
	const struct stacktree tree = stacktree_get();
	uint32_t native = list_leaf(w), *places = w->t->frames, hash = leaf->hash;
	struct stacktree_run run = {
		.outer = outer->node, .outer_hash = outer->hash, .places = places, .count = native};
	bool full = false;

	if (!read->is_known)
		run.count += python_memo_list(m, read, places + native);
	for (uint32_t i = native; i-- > 0;)
		hash = stacktree_hash(hash, places[i]);
	uint32_t node = run.count ? stacktree_find(&tree, &run, hash) : run.outer;
	if (!node)
		node = stacktree_add(w->t, &tree, &run, &full);
	if (unlikely(full)) {
		python_memo_keep(m, 0); /* the frames do not all have nodes */
		return node;
	}
	uint32_t python = node;
	for (uint32_t i = 0; i < native; i++)
		python = segment_node_parent(tree.nodes, python);
	python_memo_commit(m, read, tree.nodes, python);
	if (w->leaf)
		python_leaf_note_node(&w->p->quick.leaves, w->leaf, python, node);
	return node;
}

/* The node of an end that has been met below the same Python function before; 0: it was not. */
static inline uint32_t recall(struct python_walk *w, const struct python_memo_walk *read,
			      uint32_t python)
{
	if (!read->is_known || !w->leaf)
		return 0;
	uint32_t node = python_leaf_find_node(&w->p->quick.leaves, w->leaf, python);
	if (!node)
		return 0;
	if (read->fresh)
		python_memo_commit(&w->p->quick.memo, read, NULL, 0);
	return node;
}

/* One frame after another, whatever the last walk was, into t->frames; their number. */
static uint32_t walk_plainly(struct python_walk *w, const struct walk_start *start, bool native)
{
	python_memo_keep(&w->p->quick.memo, 0);
	w->goal = (struct walk_goal){0};
	start_over(w);
	if (native)
		walk_native(w, start);
	if (!native || w->goal.reached) /* not where it should be: all of it is native */
		keep_rest(w);
	return walk_sink_finish(&w->sink, &w->t->slot->losses);
}

/* Native frames, if they are wanted, below all those of Python. */
static uint32_t walk_below(struct python_walk *w, const struct walk_start *start, bool native)
{
	struct python_memo_walk read;
	uint32_t depth = w->t->max_depth;

	if (unlikely(!python_memo_read(&w->p->quick.memo, &w->chain, &w->namer, &read) ||
		     read.is_empty))
		return stacktree_intern(w->t, walk_plainly(w, start, native));
	const struct python_memo_frame *leaf = python_memo_leaf(&w->p->quick.memo, &read);
	bool is_shim_there = interpreter.o->activation == PYTHON_ACTIVATION_ITSELF;
	uint64_t goal = is_shim_there && leaf->activation ? leaf->activation : w->chain.cframe;
	uint32_t python = leaf->node;
	w->sink.count = 0;
	if (native && !find_leaf(w, start, goal))
		return finish(w); /* not where it should be: all of it is native */
	uint32_t below = w->leaf ? w->leaf->place_count : w->sink.count;
	if (unlikely(below >= depth - depth / 4 - 1 || read.kept + read.fresh + below > depth))
		return stacktree_intern(w->t, walk_plainly(w, start, native));
	uint32_t node = recall(w, &read, python);
	return likely(node) ? node : intern(w, &read);
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
	w->goal = (struct walk_goal){.arrive = keep_activation};
	walk_native(w, start);
	return finish(w);
}

/* A library may have gone since the last walk, and Python be one: programs that embed it may unload
 * it. What was remembered of its code objects is not what a new one at the same place has. */
static NOINLINE bool is_still_there(uint32_t generation)
{
	struct module_span span;

	if (modules_find((uint64_t)(uintptr_t)interpreter.get_own, &span) &&
	    span.id == interpreter.module && python_memo_counts(interpreter.code_type)) {
		atomic_store(&interpreter_generation, generation);
		return true;
	}
	atomic_store(&process->python, PYTHON_OFF);
	return false;
}

/* False: the thread runs no Python. */
static bool begin(struct python_walk *w, struct thread *t)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);

	if (unlikely(atomic_load_explicit(&interpreter_generation, memory_order_relaxed) !=
		     generation) &&
	    !is_still_there(generation))
		return false;
	struct python_thread *p = get_thread(t);
	uint64_t state = find_thread_state(&interpreter, &p->quick.reads);
	if (!state)
		return false;
	w->t = t;
	w->p = p;
	w->namer = (struct python_namer){
		.i = &interpreter, .reads = &p->quick.reads, .text = p->text, .marks = p->marks};
	w->leaf = NULL;
	python_frames_begin(&w->chain, &interpreter, &p->quick.reads, state);
	return w->chain.at != 0;
}

static NOINLINE bool walk_slowly(struct thread *t, const struct walk_start *start, uint32_t *node)
{
	struct python_walk w;

	if (!begin(&w, t))
		return false;
	if (unlikely(atomic_load_explicit(&process->python, memory_order_relaxed) ==
		     PYTHON_FOUND) &&
	    !passes_test(w.chain, &w.namer))
		return false;
	uint32_t mode = process->header->python;
	if (mode == SEGMENT_PYTHON_DOMAINS) {
		w.goal = (struct walk_goal){0};
		walk_native(&w, start);
		if (!is_own_allocation(&w))
			return false;
	}
	if (mode == SEGMENT_PYTHON_FULL)
		*node = walk_between(&w, start);
	else
		*node = walk_below(&w, start, mode == SEGMENT_PYTHON_MIXED);
	if (mode == SEGMENT_PYTHON_MIXED)
		python_quick_allow(
			&w.p->quick, w.p->quick.reads.thread,
			atomic_load_explicit(&interpreter_generation, memory_order_relaxed));
	return true;
}

bool python_walk(struct thread *t, const struct walk_start *start, uint32_t *node)
{
	*node = python_quick_try(t, start);
	if (likely(*node))
		return true;
	return walk_slowly(t, start, node);
}

#ifdef MIDDEN_CHECK_WALKS

bool python_walk_again(struct thread *t, const struct walk_start *start, uint32_t *count)
{
	uint32_t mode = process->header->python;
	struct python_walk w;

	if ((mode != SEGMENT_PYTHON_MIXED && mode != SEGMENT_PYTHON_ONLY) || !begin(&w, t))
		return false;
	uint32_t kept = python_memo_count(&w.p->quick.memo);
	*count = walk_plainly(&w, start, mode == SEGMENT_PYTHON_MIXED);
	python_memo_keep(&w.p->quick.memo, kept); /* the next walk is to have one */
	return true;
}

#endif
