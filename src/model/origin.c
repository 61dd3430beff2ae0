/* origin.c -- whose code a frame is: the program's, or that of the language and its libraries.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/origin.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Base names start so; what follows is a version. */
static const char *const c_libraries[] = {
	"libc.so", "libc-2.", "libc.musl-", "ld-musl-", "ld-linux", "libpthread", "libm.so", NULL,
};
static const char *const cxx_libraries[] = {"libstdc++.so", "libc++.so", "libc++abi.so", NULL};
static const char *const other_libraries[] = {"libgcc_s.so", "libgfortran.so", "libmidden.so",
					      NULL};

/* Parts of the paths of a language's own sources. */
static const char *const sources[] = {
	"/usr/include/", "/include/c++/", "/lib/gcc/", "/rustc/", "/rustlib/src/", NULL,
};

/* Of the languages, where no source file tells. */
static const char *const namespaces[] = {"std::", "__gnu_cxx::", "alloc::", "core::", NULL};

/* Parts of the paths of what comes with Python or is installed into it. */
static const char *const python_libraries[] = {
	"/lib/python3", "/lib64/python3", "/site-packages/", "/dist-packages/", "<frozen ", NULL,
};

static bool starts_with_any(const char *text, const char *const *starts)
{
	for (; *starts; starts++)
		if (strncmp(text, *starts, strlen(*starts)) == 0)
			return true;
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool origin_is_libc(const char *module)
{
	return starts_with_any(base_name(module), c_libraries);
}

bool origin_is_libstdcxx(const char *module)
{
	return starts_with_any(base_name(module), cxx_libraries);
}

static bool has_any(const char *path, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(path, *parts))
			return true;
	return false;
}

bool origin_is_own(const struct model_frame *f)
{
	if (f->placeholder || f->hidden || f->machinery || origin_is_libc(f->module) ||
	    origin_is_libstdcxx(f->module) ||
	    starts_with_any(base_name(f->module), other_libraries))
		return false;
	return !has_any(f->file, sources) && !starts_with_any(f->function, namespaces);
}

/* How names of wrappers end, before what tells variants apart: digits, _n, _array. */
static const char *const endings[] = {"alloc",	     "alloc0", "alloc_n", "alloc0_n", "allocarray",
				      "alloc_array", "strdup", "strndup", "memdup",   NULL};

static bool ends_with(const char *name, size_t length, const char *end)
{
	size_t bytes = strlen(end);

	return length >= bytes && strncasecmp(name + length - bytes, end, bytes) == 0;
}

bool origin_is_wrapper(const char *function)
{
	size_t length = strcspn(function, "(.");

	for (size_t i = 0; endings[i]; i++)
		if (ends_with(function, length, endings[i]))
			return true;
	return false;
}

/* Modules of Python and extensions that are installed. They may be all that a stack has (what runs
 * may be installed itself), so they are the program's own where nothing else is. */
static bool is_installed_for_python(const struct model_frame *f)
{
	return has_any(f->named == PROFILE_NAMED_PYTHON ? f->file : f->module, python_libraries);
}

/* What stands where there is no name. */
static const char *const no_names[] = {"??", MODEL_NATIVE_CODE, NULL};

static bool is_one_of(const char *text, const char *const *list)
{
	while (*list && strcmp(text, *list) != 0)
		list++;
	return *list != NULL;
}

enum mark {
	MARK_OWN = 1,
	MARK_TELLING = 2, /* has a name, is no wrapper and not installed for Python */
};

static uint8_t get_marks(const struct model_frame *f)
{
	if (!origin_is_own(f))
		return 0;
	if (!*f->function || is_one_of(f->function, no_names) || origin_is_wrapper(f->function) ||
	    is_installed_for_python(f))
		return MARK_OWN;
	return MARK_OWN | MARK_TELLING;
}

size_t origin_find_own(const struct model *m, const struct model_stack *stack)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < stack->frames.count; i++) {
		uint8_t marks = get_marks(model_get_frame(m, stack->frames.at[i]));
		if (marks & MARK_TELLING)
			return i;
		if (marks && first == SIZE_MAX)
			first = i;
	}
	return first == SIZE_MAX ? 0 : first;
}

static uint8_t *list_marks(const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint8_t *marks = mem_new(count, sizeof(*marks));

	for (uint32_t i = 0; i < count; i++)
		marks[i] = get_marks(model_get_frame(m, i));
	return marks;
}

/* The first frame of a node with a mark; the parent's, which comes before it, if it has none. */
static uint32_t find_marked(const uint8_t *marks, uint8_t mark, const struct model_stack *frames,
			    uint32_t of_parent)
{
	for (size_t i = 0; i < frames->frames.count; i++)
		if (marks[frames->frames.at[i]] & mark)
			return frames->frames.at[i];
	return of_parent;
}

uint32_t *origin_list_own(const struct model *m)
{
	const struct profile *p = model_get_profile(m);
	uint8_t *marks = list_marks(m);
	uint32_t *own = mem_new(p->nodes.count, sizeof(*own));
	uint32_t *telling = mem_new(p->nodes.count, sizeof(*telling));
	struct model_stack frames = {0};

	own[0] = telling[0] = UINT32_MAX;
	for (uint32_t i = 1; i < p->nodes.count; i++) {
		uint32_t parent = p->nodes.at[i].parent;
		model_get_node(m, i, &frames);
		own[i] = find_marked(marks, MARK_OWN, &frames, own[parent]);
		telling[i] = find_marked(marks, MARK_TELLING, &frames, telling[parent]);
	}
	for (uint32_t i = 1; i < p->nodes.count; i++)
		if (telling[i] != UINT32_MAX)
			own[i] = telling[i];
	free(marks);
	free(telling);
	vec_free(&frames.frames);
	return own;
}
