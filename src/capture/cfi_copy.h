/* cfi_copy.h -- finds the unwind entry of a pc in an object that may be unloaded meanwhile.
 * Runs: anywhere in the target, inside malloc; called by rules.c for addresses that need not be
 * those of live frames.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_CFI_COPY_H
#define MIDDEN_CAPTURE_CFI_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/cfi.h"

/* Entries are tens of bytes; those of very large functions, which do not fit, are not found. */
struct cfi_copy {
	uint8_t fde[2048];
	uint8_t cie[256];
};

/* As cfi_find, but every byte is copied through the kernel (peek.h). `entry` points into `copy`. */
bool cfi_copy_find(const uint8_t *hdr, uint64_t pc, struct cfi_copy *copy, struct cfi_entry *entry);

#endif
