/* program.h -- what a program's file says about how it can be recorded.
 * Runs: offline; called by `midden record` before and after it runs a program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_PROGRAM_H
#define MIDDEN_SYMBOL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

struct program_facts {
	bool is_elf;
	bool is_static;	  /* asks for no dynamic loader: nothing can be preloaded */
	uint32_t machine; /* ELF e_machine */
	/* "AddressSanitizer", say, if the program is built with one that has a malloc of its own;
	 * else NULL */
	const char *sanitizer;
	bool has_runtime; /* and the sanitizer's runtime is part of the program itself */
};

/* What can be learnt from the file; all 0 if it cannot be read. Treats it as hostile. */
struct program_facts program_examine(const char *path);

#endif
