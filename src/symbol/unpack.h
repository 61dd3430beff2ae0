/* unpack.h -- unpacks the compressed debug sections of a file, those that names are found by.
 * Runs: offline; called by symbol.c before libdw sees the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_UNPACK_H
#define MIDDEN_SYMBOL_UNPACK_H

#include <stdbool.h>

#include <libelf.h>

#include "base/vec.h"

/* What the sections of one file were unpacked into. */
struct unpacked {
	VEC(void *) buffers;
};

/* Puts what is unpacked in place of what the file holds, and hides sections that nobody here reads;
 * what it cannot unpack it leaves to libdw. Only for files opened with ELF_C_READ_MMAP, whose
 * section headers libelf keeps a copy of. With two `threads` it may start one, which has ended when
 * it returns. */
void unpack_sections(Elf *elf, unsigned threads, struct unpacked *u);

/* Whether what has to be unpacked, and what libdw makes of all sections, takes little memory. */
bool unpack_is_modest(Elf *elf);

void unpack_free(struct unpacked *u); /* after elf_end */

#endif
