/* image.h -- what a loaded object's own program headers say about its memory.
 * Runs: any thread of the target, inside malloc. Called by modules.c and what it uses.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The object may be unloaded at any moment: headers are copied (peek.h), never followed. */
#ifndef MIDDEN_CAPTURE_IMAGE_H
#define MIDDEN_CAPTURE_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_BUILD_ID_MAX 32u

/* Where an object is. */
struct image {
	uint64_t map_start;
	uint64_t map_end;
	uint64_t bias; /* run-time address minus ELF virtual address */
	/* The segment that its unwind information must lie in; read_end 0: not known. */
	uint64_t read_start;
	uint64_t read_end;
};

#define IMAGE_HEADERS_MOST 24 /* linkers make 9 to 14 */

struct image_headers {
	Elf64_Ehdr elf;
	unsigned count;
	Elf64_Phdr at[IMAGE_HEADERS_MOST];
};

/* Its program headers. False: they are not in the first page of it, or it is gone. */
bool image_read_headers(const struct image *image, struct image_headers *h);

/* How many bytes of the object's file are mapped from `address` to the end of its segment, with at
 * least the rights `flags` (PF_*). 0: none. */
uint64_t image_room(const struct image *image, uint64_t address, uint32_t flags);

/* Sets read_start and read_end to the segment that holds `address` and can be read, to nothing if
 * there is none; and leaves them where there are no headers to tell. */
void image_bound(struct image *image, const struct image_headers *h, uint64_t address);

/* The build-id in its notes and its size in bytes; 0 if there is none. */
uint32_t image_read_build_id(const struct image *image, const struct image_headers *h,
			     uint8_t id[IMAGE_BUILD_ID_MAX]);

#endif
