/* allocator.c -- which functions are the allocator's own, and so say nothing about who allocated.
 * Runs: offline, called while a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/allocator.h"

#include <stddef.h>
#include <string.h>

/* Base names start so; what follows is a version. */
static const char *const libraries[] = {
	"libc.so",	     "libc-2.",	    "libc.musl-",	  "ld-musl-",	 "ld-linux",
	"libc_malloc_debug", "libjemalloc", "libtcmalloc",	  "libmimalloc", "libtbbmalloc",
	"libsnmalloc",	     "librpmalloc", "libhardened_malloc",
};

/* After leading underscores and the prefixes below have been taken off. */
static const char *const entries[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"posix_memalign",
	"strdup",
	"strndup",
	"wcsdup",
	"asprintf",
	"vasprintf",
	"asprintf_chk",
	"vasprintf_chk",
	"asprintf_internal",
	"vasprintf_internal",
};

/* Internal aliases: __libc_malloc, __GI___strdup, je_malloc, tc_malloc, mi_malloc. */
static const char *const prefixes[] = {"GI_", "libc_", "je_", "tc_", "mi_"};

/* Rust's way to the allocator, from the half of a vector that is no more than its memory on. Names
 * start so, those of implementations with a bracket before them. */
static const char *const rust_entries[] = {
	"alloc::alloc::",
	"alloc::raw_vec::",
	"alloc::boxed::box_new",
	"std::alloc::System",
	"std::sys::alloc::",
	"__rust_alloc",
	"__rust_realloc",
	"__rdl_",
	"__rg_",
	"__rustc::__r",
	"std::sys::pal::unix::alloc::",
};

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_operator_new(const char *function)
{
	return starts_with(function, "operator new(") || starts_with(function, "operator new[](") ||
	       strcmp(function, "operator new") == 0 || strcmp(function, "operator new[]") == 0;
}

static bool is_of_rust(const char *function)
{
	function += *function == '<';
	for (size_t i = 0; i < sizeof(rust_entries) / sizeof(*rust_entries); i++)
		if (starts_with(function, rust_entries[i]))
			return true;
	return false;
}

static bool is_allocator_library(const char *name)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (starts_with(name, libraries[i]))
			return true;
	return false;
}

static const char *without_prefix(const char *function)
{
	function += strspn(function, "_");
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(function, prefixes[i]))
			function += strlen(prefixes[i]);
	return function + strspn(function, "_");
}

static bool is_allocation_call(const char *function)
{
	const char *name = without_prefix(function);

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		if (strcmp(name, entries[i]) == 0)
			return true;
	return false;
}

bool allocator_is_entry(const char *function, const char *module)
{
	const char *slash = strrchr(module, '/');
	const char *name = slash ? slash + 1 : module;

	if (starts_with(name, "libmidden.so"))
		return true;
	return is_operator_new(function) || is_of_rust(function) ||
	       (is_allocator_library(name) && is_allocation_call(function));
}
