/* image.h -- what a loaded object's own program headers say about its memory.
 * Runs: any thread of the target, inside malloc. Called by modules.c and what it uses.
 * SPDX-License-Identifier: Apache-2.0 */
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
};

/* Its program headers; NULL if they are not in the first page of it. */
const Elf64_Phdr *image_find_headers(const struct image *image, unsigned *count);

/* How many bytes of the object's file are mapped from `address` to the end of its segment, with at
 * least the rights `flags` (PF_*). 0: none. */
uint64_t image_room(const struct image *image, uint64_t address, uint32_t flags);

/* The build-id in its notes and its size in bytes; 0 if there is none. */
uint32_t image_read_build_id(const struct image *image, uint8_t id[IMAGE_BUILD_ID_MAX]);

#endif
