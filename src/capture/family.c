/* family.c -- wrappers for the entry points that an allocator defines besides malloc.
 * Runs: any thread of the target, in place of the allocator's own functions once relink.c has put
 * them there.
 * SPDX-License-Identifier: Apache-2.0
 *
 * jemalloc, tcmalloc and mimalloc define operator new and delete that do not go through malloc, and
 * names of their own (mallocx, tc_malloc, mi_malloc). They are wrapped only where they exist: were
 * we to export the names, programs that ask for them would believe in an allocator that is not
 * there. Arguments beyond those of interest (flags, alignment, nothrow) are handed on blindly in
 * their registers. */
#include "capture/family.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/boot.h"
#include "capture/hot.h"
#include "capture/light.h"
#include "capture/modules.h"
#include "capture/relink.h"

/* name, shape */
#define FAMILY_OPERATORS(X)                          \
	X(_Znwm, NEW)                                \
	X(_Znam, NEW)                                \
	X(_ZnwmRKSt9nothrow_t, NEW)                  \
	X(_ZnamRKSt9nothrow_t, NEW)                  \
	X(_ZnwmSt11align_val_t, NEW)                 \
	X(_ZnamSt11align_val_t, NEW)                 \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, NEW)   \
	X(_ZnamSt11align_val_tRKSt9nothrow_t, NEW)   \
	X(_ZdlPv, FREE)                              \
	X(_ZdaPv, FREE)                              \
	X(_ZdlPvRKSt9nothrow_t, FREE)                \
	X(_ZdaPvRKSt9nothrow_t, FREE)                \
	X(_ZdlPvm, FREE)                             \
	X(_ZdaPvm, FREE)                             \
	X(_ZdlPvSt11align_val_t, FREE)               \
	X(_ZdaPvSt11align_val_t, FREE)               \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t, FREE) \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t, FREE) \
	X(_ZdlPvmSt11align_val_t, FREE)              \
	X(_ZdaPvmSt11align_val_t, FREE)

#define FAMILY_NAMES(X)                         \
	X(mallocx, SIZE)                        \
	X(rallocx, RESIZE)                      \
	X(xallocx, IN_PLACE)                    \
	X(dallocx, FREE)                        \
	X(sdallocx, FREE)                       \
	X(tc_malloc, SIZE)                      \
	X(tc_malloc_skip_new_handler, SIZE)     \
	X(tc_calloc, COUNT_SIZE)                \
	X(tc_realloc, RESIZE)                   \
	X(tc_free, FREE)                        \
	X(tc_free_sized, FREE)                  \
	X(tc_cfree, FREE)                       \
	X(tc_memalign, ALIGN_SIZE)              \
	X(tc_posix_memalign, POSIX)             \
	X(tc_valloc, SIZE)                      \
	X(tc_pvalloc, SIZE)                     \
	X(tc_new, NEW)                          \
	X(tc_new_nothrow, NEW)                  \
	X(tc_new_aligned, NEW)                  \
	X(tc_new_aligned_nothrow, NEW)          \
	X(tc_newarray, NEW)                     \
	X(tc_newarray_nothrow, NEW)             \
	X(tc_newarray_aligned, NEW)             \
	X(tc_newarray_aligned_nothrow, NEW)     \
	X(tc_delete, FREE)                      \
	X(tc_delete_nothrow, FREE)              \
	X(tc_delete_sized, FREE)                \
	X(tc_delete_aligned, FREE)              \
	X(tc_delete_sized_aligned, FREE)        \
	X(tc_delete_aligned_nothrow, FREE)      \
	X(tc_deletearray, FREE)                 \
	X(tc_deletearray_nothrow, FREE)         \
	X(tc_deletearray_sized, FREE)           \
	X(tc_deletearray_aligned, FREE)         \
	X(tc_deletearray_sized_aligned, FREE)   \
	X(tc_deletearray_aligned_nothrow, FREE) \
	X(mi_malloc, SIZE)                      \
	X(mi_malloc_small, SIZE)                \
	X(mi_zalloc, SIZE)                      \
	X(mi_zalloc_small, SIZE)                \
	X(mi_malloc_aligned, SIZE)              \
	X(mi_zalloc_aligned, SIZE)              \
	X(mi_calloc, COUNT_SIZE)                \
	X(mi_mallocn, COUNT_SIZE)               \
	X(mi_calloc_aligned, COUNT_SIZE)        \
	X(mi_realloc, RESIZE)                   \
	X(mi_rezalloc, RESIZE)                  \
	X(mi_realloc_aligned, RESIZE)           \
	X(mi_reallocn, RESIZE_COUNT)            \
	X(mi_recalloc, RESIZE_COUNT)            \
	X(mi_reallocarray, RESIZE_COUNT)        \
	X(mi_free, FREE)                        \
	X(mi_free_size, FREE)                   \
	X(mi_free_size_aligned, FREE)           \
	X(mi_free_aligned, FREE)                \
	X(mi_cfree, FREE)                       \
	X(mi_memalign, ALIGN_SIZE)              \
	X(mi_aligned_alloc, ALIGN_SIZE)         \
	X(mi_posix_memalign, POSIX)             \
	X(mi_valloc, SIZE)                      \
	X(mi_pvalloc, SIZE)                     \
	X(mi_new, NEW)                          \
	X(mi_new_nothrow, NEW)                  \
	X(mi_new_aligned, NEW)                  \
	X(mi_new_aligned_nothrow, NEW)          \
	X(mi_new_n, COUNT_SIZE)                 \
	X(mi_strdup, TEXT)                      \
	X(mi_strndup, TEXT)                     \
	X(mi_realpath, TEXT)                    \
	X(mi_heap_malloc, HEAP_SIZE)            \
	X(mi_heap_zalloc, HEAP_SIZE)

/* ---- recording around a call ----------------------------------------------------------------- */

typedef uintptr_t word;
typedef word family_fn(word, word, word, word);

static inline void *as_pointer(word value)
{
	return (void *)value; /* NOLINT: an argument or result of unknown kind */
}

static NOINLINE word record_block(word block, size_t bytes, uint32_t api,
				  const struct walk_start *start)
{
	/* The function may have gone through malloc after all, or have called a new-handler that
	 * did. */
	if (block && thread_self->last == as_pointer(block))
		return block;
	if (light_is_on())
		light_add(as_pointer(block), bytes, api, start);
	else
		hot_alloc(as_pointer(block), bytes, api, start);
	return block;
}

/* Where not every call is recorded, what goes through malloc all the same must not count. */
static inline bool expect_inner(void)
{
	thread_self->last = NULL;
	return light_is_on() && light_mask(LIGHT_FRAME());
}

static inline word end_inner(bool masked, word result)
{
	if (masked)
		light_unmask(masked);
	return result;
}

static HOT word release(family_fn *real_fn, word block, word b, word c)
{
	if (!block)
		return real_fn(block, b, c, 0);
	bool light = light_is_on();
	if (light)
		light_remove(as_pointer(block), LIGHT_FRAME(), WALK_CALLER());
	else
		(void)hot_release(as_pointer(block), SEGMENT_EVENT_FREE);
	bool masked = light ? light_mask(LIGHT_FRAME()) : COLD_MASK(as_pointer(block));
	word result = real_fn(block, b, c, 0);

	light_unmask(masked);
	return result;
}

static void end_resize(word moved, size_t bytes, const struct walk_start *start)
{
	if (moved) {
		(void)hot_block(as_pointer(moved), bytes, SEGMENT_EVENT_RESIZED,
				SEGMENT_API_REALLOC, start);
	} else if (bytes == 0) {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FREED);
	} else {
		gate_end_resize(SEGMENT_EVENT_RESIZE_FAILED);
		cold_failed();
	}
}

static word resize_lightly(family_fn *real_fn, const word args[4], size_t bytes,
			   const struct walk_start *start)
{
	struct light_move move;

	light_move_begin(&move, as_pointer(args[0]), start);
	bool masked = light_mask(start->sp);
	word moved = real_fn(args[0], args[1], args[2], args[3]);

	light_unmask(masked);
	light_move_end(&move, as_pointer(moved), bytes, start);
	return moved;
}

static HOT word resize(family_fn *real_fn, const word args[4], size_t bytes,
		       const struct walk_start *start)
{
	void *block = as_pointer(args[0]);

	if (!block) {
		bool inner = expect_inner();
		word made = end_inner(inner, real_fn(args[0], args[1], args[2], args[3]));

		return record_block(made, bytes, SEGMENT_API_REALLOC, start);
	}
	if (light_is_on())
		return resize_lightly(real_fn, args, bytes, start);
	bool begun = hot_release(block, SEGMENT_EVENT_RESIZE);
	bool masked = COLD_MASK(block);
	word moved = real_fn(args[0], args[1], args[2], args[3]);

	cold_unmask(masked);
	if (begun)
		end_resize(moved, bytes, start);
	return moved;
}

/* xallocx resizes in place, at least to `bytes`, or not at all; it returns the size that the block
 * has. */
static HOT word resize_in_place(family_fn *real_fn, const word args[4],
				const struct walk_start *start)
{
	size_t bytes = args[1];
	struct light_move move;

	if (light_is_on()) {
		light_move_begin(&move, as_pointer(args[0]), start);
		word now = real_fn(args[0], args[1], args[2], args[3]);

		if (now >= bytes)
			light_move_end(&move, as_pointer(args[0]), bytes, start);
		else
			light_move_undo(&move);
		return now;
	}
	bool begun = hot_release(as_pointer(args[0]), SEGMENT_EVENT_RESIZE);
	word size = real_fn(args[0], args[1], args[2], args[3]);

	if (begun && size >= bytes)
		end_resize(args[0], bytes, start);
	else if (begun)
		gate_end_resize(SEGMENT_EVENT_RESIZE_FAILED);
	return size;
}

/* The size of a block that holds a string. */
static size_t text_bytes(word text)
{
	return text ? strlen(as_pointer(text)) + 1 : 0;
}

static size_t product(word count, word bytes)
{
	size_t total;

	return __builtin_mul_overflow(count, bytes, &total) ? SIZE_MAX : total;
}

/* ---- one wrapper per name -------------------------------------------------------------------- */

#define CALL(name) real_##name(a, b, c, d)

#define BODY_ALLOC(name, bytes, api)            \
	struct walk_start start = WALK_START(); \
	bool masked = expect_inner();           \
	return record_block(end_inner(masked, CALL(name)), bytes, api, &start);

#define BODY_NEW(name)	      BODY_ALLOC(name, a, SEGMENT_API_NEW)
#define BODY_SIZE(name)	      BODY_ALLOC(name, a, SEGMENT_API_OTHER)
#define BODY_COUNT_SIZE(name) BODY_ALLOC(name, product(a, b), SEGMENT_API_CALLOC)
#define BODY_ALIGN_SIZE(name) BODY_ALLOC(name, b, SEGMENT_API_ALIGNED)
#define BODY_HEAP_SIZE(name)  BODY_ALLOC(name, b, SEGMENT_API_OTHER)
#define BODY_FREE(name)	      return release(real_##name, a, b, c + 0 * d);
#define BODY_RESIZE(name)                       \
	struct walk_start start = WALK_START(); \
	return resize(real_##name, (const word[4]){a, b, c, d}, b, &start);
#define BODY_RESIZE_COUNT(name)                 \
	struct walk_start start = WALK_START(); \
	return resize(real_##name, (const word[4]){a, b, c, d}, product(b, c), &start);
#define BODY_IN_PLACE(name)                     \
	struct walk_start start = WALK_START(); \
	return resize_in_place(real_##name, (const word[4]){a, b, c, d}, &start);
#define BODY_TEXT(name)                            \
	struct walk_start start = WALK_START();    \
	bool masked = expect_inner();              \
	word text = end_inner(masked, CALL(name)); \
	return record_block(text, text_bytes(text), SEGMENT_API_OTHER, &start);
#define BODY_POSIX(name)                                                                    \
	struct walk_start start = WALK_START();                                             \
	bool masked = expect_inner();                                                       \
	word failed = end_inner(masked, CALL(name));                                        \
	if ((int)failed)                                                                    \
		cold_failed();                                                              \
	else                                                                                \
		(void)record_block(*(word *)as_pointer(a), c, SEGMENT_API_ALIGNED, &start); \
	return failed;

#define WRAPPER(name, shape)                                    \
	static family_fn *real_##name;                          \
	static word wrap_##name(word a, word b, word c, word d) \
	{                                                       \
		BODY_##shape(name)                              \
	}

FAMILY_OPERATORS(WRAPPER)
FAMILY_NAMES(WRAPPER)

/* ---- putting them in place ------------------------------------------------------------------- */

struct member {
	const char *name;
	family_fn **real_fn;
	family_fn *wrapper;
};

#define MEMBER(name, shape) {#name, &real_##name, wrap_##name},

static const struct member operators[] = {FAMILY_OPERATORS(MEMBER)};
static const struct member names[] = {FAMILY_NAMES(MEMBER)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct relink_name wanted[COUNT(operators) + COUNT(names)];
static size_t wanted_count;

/* Adds the members that exist, and (where `object` is given) are defined there. */
static void want(const struct member *members, size_t count, const void *object)
{
	for (size_t i = 0; i < count; i++) {
		void *found = relink_is_defined(members[i].name)
				      ? dlsym(RTLD_DEFAULT, members[i].name)
				      : NULL;

		if (!found || (object && relink_find_object(found) != object))
			continue;
		memcpy(members[i].real_fn, &found, sizeof(found));
		wanted[wanted_count++] = (struct relink_name){
			.name = members[i].name,
			.old = found,
			.replacement = (void *)(uintptr_t)members[i].wrapper, /* NOLINT */
		};
	}
}

bool family_find(const void *real_malloc)
{
	const void *allocator = relink_find_object(real_malloc);
	const void *libc = relink_find_object((const void *)(uintptr_t)getauxval); /* NOLINT */

	if (allocator && allocator != libc)
		want(operators, COUNT(operators), allocator);
	if (relink_is_defined("mallocx") || relink_is_defined("tc_malloc") ||
	    relink_is_defined("mi_malloc"))
		want(names, COUNT(names), NULL);
	return allocator != libc;
}

void family_patch(void)
{
	if (wanted_count)
		relink_all(wanted, wanted_count);
}

/* ---- calls of one of them by another --------------------------------------------------------- */

/* Objects with functions of the allocator's (one, or two where other names than malloc are from
 * elsewhere), and we ourselves: a function that ends by a jump to another returns to our wrapper.
 */
#define AREAS_MOST 4
static struct modules_area areas[AREAS_MOST];
static size_t area_count;

static void add_area(uint64_t address)
{
	struct modules_area area = modules_find_area(address);

	/* NOLINTNEXTLINE: a data pointer to compare */
	if (area_count < AREAS_MOST && !family_holds(address) &&
	    !modules_area_holds(&area, (uint64_t)(uintptr_t)getauxval))
		areas[area_count++] = area;
}

void family_find_areas(void)
{
	if (area_count)
		return; /* a fork child: all is where it was */
	add_area((uint64_t)(uintptr_t)family_find_areas);
	add_area((uint64_t)(uintptr_t)real.malloc);
	add_area((uint64_t)(uintptr_t)real.realloc);
	for (size_t i = 0; i < wanted_count; i++)
		add_area((uint64_t)(uintptr_t)wanted[i].old);
}

bool family_holds(uint64_t pc)
{
	for (size_t i = 0; i < area_count; i++)
		if (modules_area_holds(&areas[i], pc))
			return true;
	return false;
}
