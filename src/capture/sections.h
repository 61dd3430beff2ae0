/* sections.h -- finds a loaded object's .eh_frame by the section headers of its file.
 * Runs: any thread of the target, inside malloc, once for each object that has unwind information
 * but no .eh_frame_hdr (linked with --no-eh-frame-hdr). Called by modules.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_SECTIONS_H
#define MIDDEN_CAPTURE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/image.h"

/* Finds .eh_frame in memory. `path` is as the loader has it: "" is the program. False: there is
 * none, or the file is not to be had, is another one by now, or says what cannot be. */
bool sections_find_eh_frame(const struct image *image, const char *path, uint64_t *start,
			    uint64_t *bytes);

#endif
