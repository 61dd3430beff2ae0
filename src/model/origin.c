/* origin.c -- whose code a frame is: the program's, or that of the language and its libraries.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/origin.h"

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

static bool is_language_source(const char *file)
{
	for (size_t i = 0; sources[i]; i++)
		if (strstr(file, sources[i]))
			return true;
	return false;
}

bool origin_is_own(const struct model_frame *f)
{
	if (f->placeholder || f->hidden || origin_is_libc(f->module) ||
	    origin_is_libstdcxx(f->module) ||
	    starts_with_any(base_name(f->module), other_libraries))
		return false;
	return !is_language_source(f->file) && !starts_with_any(f->function, namespaces);
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

static bool is_telling(const struct model_frame *f)
{
	return *f->function && strcmp(f->function, "??") != 0 && !origin_is_wrapper(f->function);
}

size_t origin_find_own(const struct model *m, const struct model_stack *stack)
{
	size_t first = stack->frames.count;

	for (size_t i = 0; i < stack->frames.count; i++) {
		const struct model_frame *f = model_get_frame(m, stack->frames.at[i]);
		if (!origin_is_own(f))
			continue;
		if (is_telling(f))
			return i;
		if (first == stack->frames.count)
			first = i;
	}
	return first < stack->frames.count ? first : 0;
}
