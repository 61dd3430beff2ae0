/* cfi_index.h -- a sorted table for unwind information that came without one.
 * Runs: any thread of the target, inside malloc, once for each such object. Called by modules.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_CFI_INDEX_H
#define MIDDEN_CAPTURE_CFI_INDEX_H

#include <stdint.h>

#include "capture/image.h"

struct cfi_index_row {
	uint64_t pc;
	uint64_t fde;
};

/* Goes through the entries of an .eh_frame. Those that cover code of the object are counted, and
 * put into the first `room` rows. */
uint64_t cfi_index_take_rows(const struct image *image, const uint8_t *start, uint64_t bytes,
			     struct cfi_index_row *rows, uint64_t room);

/* What cfi_find takes for the .eh_frame_hdr of the .eh_frame at `start`, which ends with a zero
 * length, with the first entry that cannot be, or after `bytes` mapped ones. Made at the first
 * call and never given back; an object that comes again gets it again. NULL: no entry, or no
 * memory. */
const uint8_t *cfi_index_find(const struct image *image, uint64_t start, uint64_t bytes);

#endif
