/* symbol.h -- from an address in an ELF file to functions and source lines.
 * Runs: offline; a module belongs to one thread at a time, several modules may be used at once,
 * also of the same file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_SYMBOL_H
#define MIDDEN_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct symbol_pool;

struct symbol_options {
	const char *sysroot; /* prefix for paths, or NULL */
	/* Searched before /usr/lib/debug; ends with NULL. Or NULL. */
	const char *const *debug_dirs;
	bool object_only; /* separate debug information is not looked for */
	/* What would have to be asked of a server, or take much memory, is not opened; no threads
	 * are started. */
	bool modest;
	/* Where modules are taken from and go to when they are closed, or NULL. The paths in the
	 * options must be the same for all that use it. */
	struct symbol_pool *pool;
};

struct symbol_module;

/* Keeps up to `most` modules open that nobody uses, for the next one who opens them: what a file's
 * debug information costs is paid once. Those without a build-id are not kept. */
struct symbol_pool *symbol_pool_new(size_t most);
void symbol_pool_keep_modest(struct symbol_pool *pool); /* none that takes much memory is kept */
void symbol_pool_empty(struct symbol_pool *pool); /* those that nobody uses are closed for good */
void symbol_pool_free(struct symbol_pool *pool);  /* after the last of its modules was closed */

/* Opens the object at `path` and its separate debug information if there is any: by build-id, then
 * debuglink, then, only where the user has set DEBUGINFOD_URLS, from a server. If `build_id` is
 * given and the file's differs, the file was replaced since. A file that is gone or was replaced
 * may have a stand-in with the same build-id in those places; otherwise NULL with `e`. No
 * descriptor stays open. The file must not be cut short while the module is open, since it is
 * mapped. */
struct symbol_module *symbol_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
				  const struct symbol_options *options, struct error *e);

/* The running kernel's vdso, taken from this process. NULL with `e` if there is none, or it has
 * another build-id than the one given; `build_id` may be NULL. */
struct symbol_module *symbol_open_vdso(const uint8_t *build_id, size_t build_id_bytes,
				       struct error *e);

void symbol_close(struct symbol_module *m);

/* Where a module's names come from. Texts belong to the module. */
struct symbol_files {
	const char *object; /* the program or library, or what stands for it; NULL: memory (vdso) */
	const char *debug;  /* its separate debug file; NULL: none */
	bool has_dwarf; /* source lines can be found; otherwise symbol tables are all there is */
	bool was_open;	/* it comes from a pool: what was looked up before takes no time */
};
void symbol_get_files(const struct symbol_module *m, struct symbol_files *files);

struct symbol_frame {
	const char *function; /* demangled (C++, Rust, D), or as it is; NULL unknown */
	const char *file;     /* absolute if the compiler recorded its directory; NULL unknown */
	uint32_t line;	      /* 0 unknown */
	bool inlined;	      /* this frame was inlined into the next one */
};

/* The frames at an ELF virtual address, innermost first: inlined ones, then the real function.
 * Returns their number (0: nothing known). The array and its strings belong to the module: the
 * array is valid until the next call, the strings until symbol_close. `address` should lie inside
 * the call instruction (return address - 1). Tables are built when first needed, so the first
 * address in a compilation unit costs milliseconds, further ones microseconds. */
size_t symbol_find(struct symbol_module *m, uint64_t address, const struct symbol_frame **frames);

/* The variable around an ELF virtual address, and where in it that is; NULL if there is none. The
 * text belongs to the module. */
const char *symbol_find_variable(struct symbol_module *m, uint64_t address, uint64_t *offset);

struct symbol_variable {
	const char *name;    /* see symbol_name_variable; NULL: a whole section */
	const char *section; /* ".data" */
	const char *file;    /* NULL unknown */
	uint32_t line;	     /* 0 unknown */
	uint64_t address;    /* ELF virtual; of a thread-local one, where in its block */
	uint64_t size_bytes;
	bool is_thread_local;
	bool is_exported;
};

/* All variables, none inside another, and the sections that are for variables; with `places` (which
 * reads all debug information) where they are defined. Returns how many. All belongs to the module,
 * the array until the next call. */
size_t symbol_list_variables(struct symbol_module *m, bool places,
			     const struct symbol_variable **list);

/* The name for people of one that was listed, which is worked out now: of a large library's tens of
 * thousands few may be shown. The text belongs to the module. */
const char *symbol_name_variable(struct symbol_module *m, const struct symbol_variable *v);

/* The lowest ELF virtual address that is loaded. */
uint64_t symbol_get_load_address(const struct symbol_module *m);

/* Demangles one linkage name (C++ Itanium, Rust legacy and v0, D). malloc'ed text, or NULL if it is
 * not mangled. */
char *symbol_demangle(const char *name);

#endif
