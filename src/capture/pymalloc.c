/* pymalloc.c -- small objects of Python, which its own allocator cuts out of arenas.
 * Runs: any thread of the target, with the interpreter's lock held; inside Python's allocator.
 * SPDX-License-Identifier: Apache-2.0
 *
 * With the lock held nobody else can get a block that was just freed, so that events may be written
 * after the real call here. Each hook works alone and with the context that was there before: it
 * does not matter whether a thread sees old and new functions mixed while they are exchanged. */
#include "capture/pymalloc.h"

#include <string.h>

#include "capture/arenas.h"
#include "capture/hot_try.h"
#include "capture/light.h"
#include "capture/nearby.h"
#include "capture/sampler.h"
#include "capture/sieve.h"
#include "capture/say.h"

#define SMALL_BYTES LIGHT_SMALL_BYTES

/* As in Python's headers: PyObjectArenaAllocator, PyMemAllocatorDomain. */
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t bytes);
	void (*free)(void *context, void *arena, size_t bytes);
};

enum { DOMAIN_MEM = 1, DOMAIN_OBJ = 2, DOMAINS = 3 };

/* What the interpreter has. */
static struct {
	void (*get)(int domain, struct allocator *a);
	void (*set)(int domain, const struct allocator *a);
	void (*get_arena)(struct arena_allocator *a);
	void (*set_arena)(const struct arena_allocator *a);
	const char *(*get_name)(void);
} python;

/* What does the work; as it was before ours. */
static struct allocator real_mem, real_obj;
static struct arena_allocator real_arena;

/* ---- ready or not ---------------------------------------------------------------------------- */

static bool is_ours(const struct allocator *a);

/* Nothing is recorded in this process (any more): steps aside, unless somebody else's functions
 * stand before ours by now. */
static NOINLINE void leave(void)
{
	struct allocator now;

	python.get(DOMAIN_MEM, &now);
	if (is_ours(&now))
		python.set(DOMAIN_MEM, &real_mem);
	python.get(DOMAIN_OBJ, &now);
	if (is_ours(&now))
		python.set(DOMAIN_OBJ, &real_obj);
}

static bool enter(uint64_t frame)
{
	if (cold_enter(frame, 0))
		return true;
	if (process &&
	    (atomic_load(&process->state) == PROCESS_OFF || thread_self->state == THREAD_OFF))
		leave();
	return false;
}

/* ---- every block ----------------------------------------------------------------------------- */

static NOINLINE void add_slowly(void *block, size_t bytes, uint32_t kind,
				const struct walk_start *start)
{
	if (arenas_has(block) && (HOT_IS_READY() || enter(start->sp)))
		(void)hot_block(block, bytes, kind, SEGMENT_API_PYTHON, start);
}

static HOT void add(void *block, size_t bytes, uint32_t kind, const struct walk_start *start)
{
	if (unlikely(!arenas_has_surely(block) || !HOT_IS_READY())) {
		const struct walk_start copy = *start; /* so that `start` can be in registers */

		add_slowly(block, bytes, kind, &copy);
		return;
	}
	struct thread *t = hot_hold(HOT_FRAME());
	if (likely(t))
		hot_put_block(t, block, bytes, SEGMENT_API_PYTHON << 4 | kind,
			      walk_tagged_python(t, start));
}

static NOINLINE void *record_malloc(const struct allocator *inner, size_t bytes)
{
	void *block = inner->malloc(inner->context, bytes);
	struct walk_start start = WALK_START();

	add(block, bytes, SEGMENT_EVENT_ALLOC, &start);
	return block;
}

static NOINLINE void *record_calloc(const struct allocator *inner, size_t count, size_t bytes)
{
	void *block = inner->calloc(inner->context, count, bytes);
	struct walk_start start = WALK_START();

	add(block, count * bytes, SEGMENT_EVENT_ALLOC, &start);
	return block;
}

static NOINLINE void *record_realloc(const struct allocator *inner, void *block, size_t bytes)
{
	bool was_small = arenas_has(block);
	void *moved = inner->realloc(inner->context, block, bytes);
	struct walk_start start = WALK_START();

	if (!moved || !(HOT_IS_READY() || enter(HOT_FRAME())))
		return moved;
	bool is_small = arenas_has(moved);
	if (was_small && !is_small) /* its new block is malloc's */
		(void)hot_release_as(block, SEGMENT_EVENT_FREE, SEGMENT_FREE_PYTHON);
	else if (was_small)
		(void)hot_release_as(block, SEGMENT_EVENT_RESIZE, SEGMENT_FREE_PYTHON);
	if (is_small)
		add(moved, bytes, was_small ? SEGMENT_EVENT_RESIZED : SEGMENT_EVENT_ALLOC, &start);
	return moved;
}

static NOINLINE void record_free(const struct allocator *inner, void *block)
{
	if (likely(arenas_has(block)) && (HOT_IS_READY() || enter(HOT_FRAME())))
		(void)hot_release_as(block, SEGMENT_EVENT_FREE, SEGMENT_FREE_PYTHON);
	inner->free(inner->context, block);
}

/* True: the block's end is recorded, and it need but be given back. */
static HOT bool record_free_at_once(void *block)
{
	return likely(arenas_has_surely(block)) &&
	       likely(hot_try_free_as(block, SEGMENT_FREE_PYTHON) == HOT_TRY_DONE);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* True: a request of this size is counted, and need but be made. */
static inline bool take(size_t bytes)
{
	return light_take_small(thread_self, bytes);
}

/* Whether the thread counts down to its next sample; a new one begins to. Other programs than those
 * that get here have no use for the sampler. */
static bool has_count(uint64_t frame)
{
	if (likely(thread_self->small_left))
		return true;
	if (!enter(frame))
		return false;
	if (sampler_get_period() == 0) /* in a fork child, too */
		sampler_begin();
	sampler_attach(thread_self);
	return true;
}

static NOINLINE void sample(void *block, size_t bytes, const struct walk_start *start)
{
	if (!has_count(HOT_FRAME()) || !block || take(bytes))
		return;
	if (arenas_has(block))
		light_record(block, bytes, SEGMENT_EVENT_ALLOC, SEGMENT_API_PYTHON, start);
	struct thread *t = hot_enter(); /* busy, as in light.c */
	if (!t) {
		thread_self->small_left = 0;
		return;
	}
	t->sampler.last = block;
	sampler_draw_small(t);
	hot_leave(t);
}

static NOINLINE void *sample_malloc(const struct allocator *inner, size_t bytes)
{
	void *block = inner->malloc(inner->context, bytes);
	struct walk_start start = WALK_START();

	sample(block, bytes, &start);
	return block;
}

static NOINLINE void *sample_calloc(const struct allocator *inner, size_t count, size_t bytes)
{
	void *block = inner->calloc(inner->context, count, bytes);
	struct walk_start start = WALK_START();

	sample(block, count * bytes, &start);
	return block;
}

/* The block's sample goes with its old size; the new one may be the next. */
static NOINLINE void *sample_realloc(const struct allocator *inner, void *block, size_t bytes)
{
	struct sampler_block facts;
	bool sampled = block && has_count(HOT_FRAME()) && sampler_take(block, &facts);
	void *moved = inner->realloc(inner->context, block, bytes);
	struct walk_start start = WALK_START();

	if (sampled && !moved)
		(void)sampler_put(block, facts);
	else if (sampled)
		(void)hot_release_as(block, SEGMENT_EVENT_FREE, SEGMENT_FREE_PYTHON);
	if (moved && bytes <= SMALL_BYTES)
		sample(moved, bytes, &start);
	return moved;
}

static NOINLINE void sample_free(const struct allocator *inner, void *block)
{
	struct sampler_block facts;

	if (block && has_count(HOT_FRAME()) && sampler_take(block, &facts)) {
		const struct thread *t = thread_self;
		bool temporary = t->sampler.last == block && t->small_left == t->small_granted;

		(void)hot_release_as(block, SEGMENT_EVENT_FREE,
				     temporary ? SEGMENT_FREE_PYTHON | SEGMENT_FREE_TEMPORARY
					       : SEGMENT_FREE_PYTHON);
	}
	inner->free(inner->context, block);
}

/* ---- samples where all blocks are ------------------------------------------------------------ */

/* Requests that are surely blocks of arenas: up to SMALL_BYTES, or none where Python's
 * allocators are others than its usual ones (malloc, or those that add bytes to look for
 * errors). A fork child has the same ones. */
static size_t sure_bytes = SMALL_BYTES;

/* What pymalloc makes a block of itself; it has those of no bytes from malloc, too. */
static inline bool is_small(size_t bytes)
{
	return bytes - 1 < SMALL_BYTES;
}

/* A block, if it is one of an arena's, that light_take has not counted. */
static NOINLINE void count(void *block, size_t bytes, const struct walk_start *start)
{
	if (arenas_has(block) && (thread_self->allowance || enter(start->sp)))
		light_add(block, bytes, SEGMENT_API_PYTHON, start);
}

static NOINLINE void *count_malloc(const struct allocator *inner, size_t bytes)
{
	void *block = inner->malloc(inner->context, bytes);
	struct walk_start start = WALK_START();

	count(block, bytes, &start);
	return block;
}

static NOINLINE void *count_calloc(const struct allocator *inner, size_t count_of, size_t bytes)
{
	void *block = inner->calloc(inner->context, count_of, bytes);
	struct walk_start start = WALK_START();

	count(block, count_of * bytes, &start);
	return block;
}

/* A block that leaves the arenas for malloc is counted there, and given back here. */
static NOINLINE void *count_realloc(const struct allocator *inner, void *block, size_t bytes)
{
	struct light_move move = {.block = block, .api = SEGMENT_API_PYTHON};
	bool was_small = arenas_has(block);
	bool sampled = was_small && sampler_take(block, &move.facts);
	void *moved = inner->realloc(inner->context, block, bytes);
	struct walk_start start = WALK_START();

	if (!moved) {
		if (sampled)
			(void)sampler_put(block, move.facts);
	} else if (was_small && arenas_has(moved)) {
		move.sampled = sampled && hot_release(block, SEGMENT_EVENT_RESIZE);
		light_move_end(&move, moved, bytes, &start);
	} else if (was_small) {
		thread_self->light.frees++;
		if (sampled)
			(void)hot_release(block, SEGMENT_EVENT_FREE);
	} else if (!block) {
		count(moved, bytes, &start);
	}
	return moved;
}

static NOINLINE void count_free(const struct allocator *inner, void *block)
{
	if (arenas_has(block) && (thread_self->allowance || enter(HOT_FRAME())))
		light_remove(block, HOT_FRAME(), WALK_CALLER());
	inner->free(inner->context, block);
}

/* True: the block's end is counted, and it need but be given back. */
static inline bool release(const void *block)
{
	struct thread *t = thread_self;

	return t->allowance && arenas_has_surely(block) && light_release(t, block);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

/* Both domains are the same but for what does the work. They jump, here as in hooks.c. */
#define HOOKS(domain)                                                                              \
	static void *exact_##domain##_malloc(void *context, size_t bytes)                          \
	{                                                                                          \
		(void)context;                                                                     \
		if (unlikely(bytes > SMALL_BYTES))                                                 \
			return real_##domain.malloc(real_##domain.context, bytes);                 \
		return record_malloc(&real_##domain, bytes);                                       \
	}                                                                                          \
	static void *exact_##domain##_calloc(void *context, size_t count, size_t bytes)            \
	{                                                                                          \
		size_t total;                                                                      \
		(void)context;                                                                     \
		if (__builtin_mul_overflow(count, bytes, &total) || total > SMALL_BYTES)           \
			return real_##domain.calloc(real_##domain.context, count, bytes);          \
		return record_calloc(&real_##domain, count, bytes);                                \
	}                                                                                          \
	static void *exact_##domain##_realloc(void *context, void *block, size_t bytes)            \
	{                                                                                          \
		(void)context;                                                                     \
		return record_realloc(&real_##domain, block, bytes);                               \
	}                                                                                          \
	static void exact_##domain##_free(void *context, void *block)                              \
	{                                                                                          \
		(void)context;                                                                     \
		if (likely(record_free_at_once(block)))                                            \
			real_##domain.free(real_##domain.context, block);                          \
		else                                                                               \
			record_free(&real_##domain, block);                                        \
	}                                                                                          \
	static void *sampled_##domain##_malloc(void *context, size_t bytes)                        \
	{                                                                                          \
		(void)context;                                                                     \
		if (likely(take(bytes)))                                                           \
			return real_##domain.malloc(real_##domain.context, bytes);                 \
		return sample_malloc(&real_##domain, bytes);                                       \
	}                                                                                          \
	static void *sampled_##domain##_calloc(void *context, size_t count, size_t bytes)          \
	{                                                                                          \
		size_t total;                                                                      \
		(void)context;                                                                     \
		if (__builtin_mul_overflow(count, bytes, &total) || take(total))                   \
			return real_##domain.calloc(real_##domain.context, count, bytes);          \
		return sample_calloc(&real_##domain, count, bytes);                                \
	}                                                                                          \
	static void *sampled_##domain##_realloc(void *context, void *block, size_t bytes)          \
	{                                                                                          \
		(void)context;                                                                     \
		if ((!block || likely(!sieve_may_hold(block))) && take(bytes))                     \
			return real_##domain.realloc(real_##domain.context, block, bytes);         \
		return sample_realloc(&real_##domain, block, bytes);                               \
	}                                                                                          \
	static void sampled_##domain##_free(void *context, void *block)                            \
	{                                                                                          \
		(void)context;                                                                     \
		if (likely(!sieve_may_hold(block)))                                                \
			real_##domain.free(real_##domain.context, block);                          \
		else                                                                               \
			sample_free(&real_##domain, block);                                        \
	}                                                                                          \
	static void *counted_##domain##_malloc(void *context, size_t bytes)                        \
	{                                                                                          \
		(void)context;                                                                     \
		if (unlikely(!is_small(bytes)) || (likely(bytes <= sure_bytes) &&                  \
						   likely(light_take(bytes, SEGMENT_API_PYTHON)))) \
			return real_##domain.malloc(real_##domain.context, bytes);                 \
		return count_malloc(&real_##domain, bytes);                                        \
	}                                                                                          \
	static void *counted_##domain##_calloc(void *context, size_t count_of, size_t bytes)       \
	{                                                                                          \
		size_t total;                                                                      \
		(void)context;                                                                     \
		if (__builtin_mul_overflow(count_of, bytes, &total) || !is_small(total) ||         \
		    (total <= sure_bytes && light_take(total, SEGMENT_API_PYTHON)))                \
			return real_##domain.calloc(real_##domain.context, count_of, bytes);       \
		return count_calloc(&real_##domain, count_of, bytes);                              \
	}                                                                                          \
	static void *counted_##domain##_realloc(void *context, void *block, size_t bytes)          \
	{                                                                                          \
		(void)context;                                                                     \
		return count_realloc(&real_##domain, block, bytes);                                \
	}                                                                                          \
	static void counted_##domain##_free(void *context, void *block)                            \
	{                                                                                          \
		(void)context;                                                                     \
		if (likely(release(block)))                                                        \
			real_##domain.free(real_##domain.context, block);                          \
		else                                                                               \
			count_free(&real_##domain, block);                                         \
	}

HOOKS(mem)
HOOKS(obj)

/* By enum segment_pymalloc; the last where all blocks are samples. */
enum { HOOKS_COUNTED = SEGMENT_PYMALLOC_OFF, HOOKS_KINDS };

#define FUNCTIONS(domain)                                                                      \
	{                                                                                      \
		[SEGMENT_PYMALLOC_SAMPLED] = {NULL, sampled_##domain##_malloc,                 \
					      sampled_##domain##_calloc,                       \
					      sampled_##domain##_realloc,                      \
					      sampled_##domain##_free},                        \
		[SEGMENT_PYMALLOC_EXACT] = {NULL, exact_##domain##_malloc,                     \
					    exact_##domain##_calloc, exact_##domain##_realloc, \
					    exact_##domain##_free},                            \
		[HOOKS_COUNTED] = {NULL, counted_##domain##_malloc, counted_##domain##_calloc, \
				   counted_##domain##_realloc, counted_##domain##_free},       \
	}

static const struct allocator mem_hooks[] = FUNCTIONS(mem);
static const struct allocator obj_hooks[] = FUNCTIONS(obj);

static bool is_ours(const struct allocator *a)
{
	for (unsigned i = 0; i < HOOKS_KINDS; i++)
		if (a->malloc == mem_hooks[i].malloc || a->malloc == obj_hooks[i].malloc)
			return true;
	return nearby_holds((uint64_t)(uintptr_t)a->malloc);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static void show_arenas(void)
{
	struct segment_header *h = process ? process->header : NULL;
	uint64_t bytes = arenas_get_bytes();

	if (!h)
		return;
	atomic_store_explicit(&h->arena_bytes, bytes, memory_order_relaxed);
	if (bytes > atomic_load_explicit(&h->arena_peak_bytes, memory_order_relaxed))
		atomic_store_explicit(&h->arena_peak_bytes, bytes, memory_order_relaxed);
}

static void *add_arena(void *context, size_t bytes)
{
	void *arena = real_arena.alloc(context, bytes);

	if (arena) {
		arenas_add(arena, bytes);
		show_arenas();
	}
	return arena;
}

static void remove_arena(void *context, void *arena, size_t bytes)
{
	arenas_remove(arena, bytes);
	show_arenas();
	real_arena.free(context, arena, bytes);
}

static void install_arenas(void)
{
	struct arena_allocator a;

	python.get_arena(&a);
	if (a.alloc == add_arena)
		return;
	real_arena = a;
	a.alloc = add_arena;
	a.free = remove_arena;
	python.set_arena(&a);
}

/* ---- taking the allocators' place ------------------------------------------------------------ */

/* Notes what does the work in a domain. False: ours have its place already. */
static bool note_inner(int domain, struct allocator *inner)
{
	struct allocator now;

	python.get(domain, &now);
	if (is_ours(&now))
		return false;
	*inner = now;
	return true;
}

static void take_places(uint32_t mode)
{
	static const enum nearby_kind kinds[HOOKS_KINDS] = {
		[SEGMENT_PYMALLOC_SAMPLED] = NEARBY_SAMPLED,
		[SEGMENT_PYMALLOC_EXACT] = NEARBY_EXACT,
		[HOOKS_COUNTED] = NEARBY_COUNTED,
	};
	bool has_mem = note_inner(DOMAIN_MEM, &real_mem),
	     has_obj = note_inner(DOMAIN_OBJ, &real_obj);
	struct nearby_plan plan = {.mem = {real_mem, mem_hooks[mode]},
				   .obj = {real_obj, obj_hooks[mode]},
				   .sure_bytes = sure_bytes};

	plan.mem.hooks.context = real_mem.context;
	plan.obj.hooks.context = real_obj.context;
	nearby_place(&plan, kinds[mode], (uint64_t)(uintptr_t)python.get);
	if (has_mem)
		python.set(DOMAIN_MEM, &plan.mem.hooks);
	if (has_obj)
		python.set(DOMAIN_OBJ, &plan.obj.hooks);
}

/* What the interpreter's allocators are called; "" if they are not its own ones. 3.12 takes a lock
 * for it that must have been made. */
static const char *get_name(void)
{
	const char *name = python.get_name ? python.get_name() : NULL;

	return name ? name : "";
}

static void show(enum segment_small found)
{
	atomic_store_explicit(&process->header->small, found, memory_order_relaxed);
}

static void install(void)
{
	const struct segment_header *h = process->header;
	const uint32_t mode = h->mode == SEGMENT_MODE_SAMPLE ? HOOKS_COUNTED : h->pymalloc;

	install_arenas();
	take_places(mode);
	show(SEGMENT_SMALL_HOOKED);
	show_arenas();
}

static bool is_wanted(void)
{
	const struct segment_header *h = process->header;

	return h->pymalloc < SEGMENT_PYMALLOC_OFF && h->mode != SEGMENT_MODE_TAGS;
}

static uintptr_t find(const struct dynsym *d, const char *name)
{
	return (uintptr_t)dynsym_find(d, name, NULL);
}

void pymalloc_install(const struct dynsym *d, bool is_free_threaded)
{
	python.get = NULL;
	if (!is_wanted())
		return;
	if (is_free_threaded) {
		show(SEGMENT_SMALL_MIMALLOC);
		say("this Python runs threads without a GIL: its small objects are not recorded");
		return;
	}
	python.get = (void (*)(int, struct allocator *))find(d, "PyMem_GetAllocator"); /* NOLINT */
	python.set =
		(void (*)(int, const struct allocator *))find(d, "PyMem_SetAllocator"); /* NOLINT */
	python.get_arena =
		(void (*)(struct arena_allocator *))find(/* NOLINT */
							 d, "PyObject_GetArenaAllocator");
	python.set_arena =
		(void (*)(const struct arena_allocator *))find(/* NOLINT */
							       d, "PyObject_SetArenaAllocator");
	python.get_name =
		(const char *(*)(void))find(d, "_PyMem_GetCurrentAllocatorName"); /* NOLINT */
	if (python.get && python.set && python.get_arena && python.set_arena)
		install();
	else
		python.get = NULL;
}

void pymalloc_check(void)
{
	struct allocator now;

	if (!is_wanted() || !python.get)
		return;
	python.get(DOMAIN_OBJ, &now);
	if (is_ours(&now))
		return;
	/* Others than its own stand before ours, as tracemalloc's do, and call them: before those
	 * ours would call themselves without end. */
	const char *name = get_name();
	if (!*name)
		return;
	sure_bytes = strcmp(name, "pymalloc") == 0 ? SMALL_BYTES : 0;
	if (strncmp(name, "malloc", 6) == 0) /* and malloc_debug */
		show(SEGMENT_SMALL_MALLOC);
	else
		install();
}
