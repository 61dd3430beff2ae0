/* nearby.c -- hooks of Python's allocator, copied to where the interpreter is.
 * Runs: nearby_place in whatever thread first meets the interpreter; the copies inside its
 * allocator, with its lock held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/nearby.h"

#include <string.h>
#include <sys/mman.h>

#include "capture/arenas.h"
#include "capture/light.h"
#include "capture/sieve.h"
#include "capture/stamp.h"
#include "capture/thread.h"
#include "capture/unwatched.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* a mere wish to kernels before 4.17 */
#endif

#define PAGE_BYTES     4096u /* what addresses within the code are relative to, on aarch64 */
#define PLACE_ALIGN    ((uint64_t)64 << 10) /* any page size */
#define PLACE_STEP     ((uint64_t)256 << 10)
#define PLACE_TRIES    512u
#define PLACES	       4u /* one, unless Python is told to take other allocators later */
#define CLOSE_DISTANCE ((uint64_t)1 << 30)

/* Without optimisation a function returns from its last call instead of jumping, and nobody could
 * walk through the copies. */
#ifdef __OPTIMIZE__
#define ARE_JUMPS true
#else
#define ARE_JUMPS false
#endif

/* ---- what is copied -------------------------------------------------------------------------- */

struct words {
	uint64_t self_offset; /* of thread_self from the thread pointer */
	const _Atomic uint64_t *sieve;
	const struct arenas_window *windows;
	struct process *const *process;
	struct nearby_plan plan;
};

/* All zero here, and filled in only where it is copied to: a section is code or data. */
#define WORDS_BYTES 256
#define TEXT_OF(x)  #x
#define TEXT(x)	    TEXT_OF(x)
__asm__(".pushsection nearby, \"ax\", %progbits\n"
	".balign 64\n"
	".globl nearby_words\n"
	".hidden nearby_words\n"
	"nearby_words:\n"
	".zero " TEXT(WORDS_BYTES) "\n"
				   ".popsection\n");
extern const struct words nearby_words HIDDEN;
_Static_assert(sizeof(struct words) <= WORDS_BYTES, "the words have room");

#define NEARBY NOINLINE UNWATCHED __attribute__((section("nearby")))

static inline UNWATCHED struct thread *get_self(void)
{
	uint64_t at = arch_thread_pointer() + nearby_words.self_offset;

	return *(struct thread **)at; /* NOLINT: an address */
}

/* Whether stamps of this process can be estimates. */
static inline UNWATCHED bool is_alone(void)
{
	const struct process *p = *nearby_words.process;

	return atomic_load_explicit(&p->clock, memory_order_relaxed) == PROCESS_CLOCK_ALONE;
}

/* hot_try_free_as of a small object, where the clock need not be read. */
static inline UNWATCHED bool put_free(struct thread *t, void *block, uint64_t frame)
{
	if (unlikely(t->pos >= t->limit))
		return false;
	t->limit = thread_busy(frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* In this order: see hot_try_enter. */
	uint64_t *at = t->pos;
	bool is_done =
		likely(at < t->chunk_limit) && likely(is_alone()) && likely(stamp_estimate(t));
	if (likely(is_done)) {
		at[0] = stamp_to_word(t->stamp, SEGMENT_FREE_PYTHON << 4 | SEGMENT_EVENT_FREE);
		at[1] = (uint64_t)(uintptr_t)block;
		t->last = NULL; /* see hot_release_as */
		hot_publish(t, at + 2);
	}
	hot_leave(t);
	return is_done;
}

/* Each does what the hook that it stands before does with nearly all calls, and jumps. The contexts
 * are the same. */
#define COPIES(domain)                                                                           \
	static NEARBY void *sampled_##domain##_malloc(void *context, size_t bytes)               \
	{                                                                                        \
		if (likely(light_take_small(get_self(), bytes)))                                 \
			return nearby_words.plan.domain.inner.malloc(context, bytes);            \
		return nearby_words.plan.domain.hooks.malloc(context, bytes);                    \
	}                                                                                        \
	static NEARBY void *sampled_##domain##_realloc(void *context, void *block, size_t bytes) \
	{                                                                                        \
		if ((!block || likely(!sieve_has(nearby_words.sieve, block))) &&                 \
		    likely(light_take_small(get_self(), bytes)))                                 \
			return nearby_words.plan.domain.inner.realloc(context, block, bytes);    \
		return nearby_words.plan.domain.hooks.realloc(context, block, bytes);            \
	}                                                                                        \
	static NEARBY void sampled_##domain##_free(void *context, void *block)                   \
	{                                                                                        \
		if (likely(!sieve_has(nearby_words.sieve, block)))                               \
			nearby_words.plan.domain.inner.free(context, block);                     \
		else                                                                             \
			nearby_words.plan.domain.hooks.free(context, block);                     \
	}                                                                                        \
	static NEARBY void exact_##domain##_free(void *context, void *block)                     \
	{                                                                                        \
		if (likely(arenas_has_among(nearby_words.windows, block)) &&                     \
		    likely(put_free(get_self(), block, HOT_FRAME())))                            \
			nearby_words.plan.domain.inner.free(context, block);                     \
		else                                                                             \
			nearby_words.plan.domain.hooks.free(context, block);                     \
	}                                                                                        \
	static NEARBY void *counted_##domain##_malloc(void *context, size_t bytes)               \
	{                                                                                        \
		if (unlikely(bytes - 1 >= LIGHT_SMALL_BYTES) ||                                  \
		    (likely(bytes <= nearby_words.plan.sure_bytes) &&                            \
		     likely(light_take_by(get_self(), bytes, SEGMENT_API_PYTHON))))              \
			return nearby_words.plan.domain.inner.malloc(context, bytes);            \
		return nearby_words.plan.domain.hooks.malloc(context, bytes);                    \
	}                                                                                        \
	static NEARBY void counted_##domain##_free(void *context, void *block)                   \
	{                                                                                        \
		struct thread *t = get_self();                                                   \
		if (likely(t->allowance) &&                                                      \
		    likely(arenas_has_among(nearby_words.windows, block)) &&                     \
		    likely(!sieve_has(nearby_words.sieve, block))) {                             \
			t->light.frees++;                                                        \
			nearby_words.plan.domain.inner.free(context, block);                     \
		} else {                                                                         \
			nearby_words.plan.domain.hooks.free(context, block);                     \
		}                                                                                \
	}

COPIES(mem)
COPIES(obj)

/* ---- where to -------------------------------------------------------------------------------- */

/* As the linker names the section's bounds. */
extern const char __start_nearby[] HIDDEN, __stop_nearby[] HIDDEN;

struct place {
	struct words words;
	uint64_t shift; /* how far the copy is from here */
};
static struct place places[PLACES];
/* Of those that are filled in: a release once one is pairs with the acquire in find_place. */
static _Atomic unsigned place_count;

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static bool is_close(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < CLOSE_DISTANCE;
}

static void *map_at(uint64_t address, size_t bytes)
{
	long at = HOST_CALL6(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at < 0 && at > -4096)
		return NULL;
	if ((uint64_t)at == address)
		return (void *)at; /* NOLINT: the kernel's answer */
	(void)HOST_CALL2(SYS_munmap, at, bytes);
	return NULL;
}

/* Below the interpreter: what is above a program is for its heap to grow into. */
static char *find_room(uint64_t goal, size_t bytes)
{
	uint64_t at = goal & -PLACE_ALIGN;

	for (unsigned i = 0; i < PLACE_TRIES && at > PLACE_STEP; i++) {
		at -= PLACE_STEP;
		char *room = map_at(at, bytes);
		if (room)
			return room;
	}
	return NULL;
}

/* How far the copy is from here; 0: there is none. Within its page the code stays where it was. */
static uint64_t copy(const struct words *words, uint64_t goal)
{
	const size_t code_bytes = (size_t)(__stop_nearby - __start_nearby);
	const size_t before = address_of(__start_nearby) % PAGE_BYTES;
	const size_t bytes = (before + code_bytes + PLACE_ALIGN - 1) & -PLACE_ALIGN;
	char *room = find_room(goal, bytes);

	if (!room)
		return 0;
	memcpy(room + before, __start_nearby, code_bytes);
	memcpy(room + before + ((const char *)&nearby_words - __start_nearby), words,
	       sizeof(*words));
	__builtin___clear_cache(room, room + bytes);
	if (HOST_CALL3(SYS_mprotect, room, bytes, PROT_READ | PROT_EXEC) != 0) {
		(void)HOST_CALL2(SYS_munmap, room, bytes); /* who forbids that has a reason */
		return 0;
	}
	return address_of(room + before) - address_of(__start_nearby);
}

/* One thread at a time, as the interpreter is found by one. */
static uint64_t find_shift(const struct words *words, uint64_t goal)
{
	unsigned count = atomic_load(&place_count);

	for (unsigned i = 0; i < count; i++)
		if (memcmp(&places[i].words, words, sizeof(*words)) == 0)
			return places[i].shift;
	if (count == PLACES)
		return 0;
	uint64_t shift = copy(words, goal);
	if (shift) {
		places[count] = (struct place){*words, shift};
		atomic_store_explicit(&place_count, count + 1, memory_order_release);
	}
	return shift;
}

#define MOVE(function, shift) (__typeof__(&(function)))(address_of(function) + (shift)) /* NOLINT */

static void move_sampled(struct nearby_plan *p, uint64_t shift)
{
	p->mem.hooks.malloc = MOVE(sampled_mem_malloc, shift);
	p->mem.hooks.realloc = MOVE(sampled_mem_realloc, shift);
	p->mem.hooks.free = MOVE(sampled_mem_free, shift);
	p->obj.hooks.malloc = MOVE(sampled_obj_malloc, shift);
	p->obj.hooks.realloc = MOVE(sampled_obj_realloc, shift);
	p->obj.hooks.free = MOVE(sampled_obj_free, shift);
}

static void move_counted(struct nearby_plan *p, uint64_t shift)
{
	p->mem.hooks.malloc = MOVE(counted_mem_malloc, shift);
	p->mem.hooks.free = MOVE(counted_mem_free, shift);
	p->obj.hooks.malloc = MOVE(counted_obj_malloc, shift);
	p->obj.hooks.free = MOVE(counted_obj_free, shift);
}

static void move_exact(struct nearby_plan *p, uint64_t shift)
{
	p->mem.hooks.free = MOVE(exact_mem_free, shift);
	p->obj.hooks.free = MOVE(exact_obj_free, shift);
}

void nearby_place(struct nearby_plan *plan, enum nearby_kind kind, uint64_t goal)
{
	const struct words words = {
		.self_offset = address_of(&thread_self) - arch_thread_pointer(),
		.sieve = sieve_words,
		.windows = arenas_windows,
		.process = &process,
		.plan = *plan,
	};

	if (!ARE_JUMPS || is_close(address_of(__start_nearby), goal))
		return;
	uint64_t shift = find_shift(&words, goal);
	if (!shift)
		return;
	if (kind == NEARBY_SAMPLED)
		move_sampled(plan, shift);
	else if (kind == NEARBY_COUNTED)
		move_counted(plan, shift);
	else
		move_exact(plan, shift);
}

/* The copy that an address is in, NULL if in none. */
static const struct place *find_place(uint64_t address)
{
	unsigned count = atomic_load_explicit(&place_count, memory_order_acquire);

	for (unsigned i = 0; i < count; i++)
		if (address - places[i].shift - address_of(__start_nearby) <
		    (uint64_t)(__stop_nearby - __start_nearby))
			return &places[i];
	return NULL;
}

bool nearby_holds(uint64_t function)
{
	return find_place(function) != NULL;
}

uint64_t nearby_get_origin(uint64_t pc)
{
	const struct place *place = find_place(pc);

	return place ? pc - place->shift : pc;
}
