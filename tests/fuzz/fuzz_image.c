/* fuzz_image.c -- hostile headers of a loaded object and of its file, as the library reads them.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is the file, and what is mapped of it: a page at least. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/cfi_index.h"
#include "capture/image.h"
#include "capture/sections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define PAGE 4096u

static int file = -1;
static char *path;

static void put_file(const uint8_t *data, size_t bytes)
{
	if (file < 0) {
		file = memfd_create("object", MFD_CLOEXEC);
		path = mem_format("/proc/self/fd/%d", file);
	}
	if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes)
		abort();
}

/* Every byte that is said to be there can be read. */
static void read_rooms(const struct image *image)
{
	volatile uint8_t sum = 0;

	for (uint64_t at = image->map_start; at < image->map_end; at += 256) {
		uint64_t room = image_room(image, at, PF_R);

		if (room > image->map_end - at)
			abort();
		if (room)
			sum = (uint8_t)(sum + *(const uint8_t *)(uintptr_t)at +
					*(const uint8_t *)(uintptr_t)(at + room - 1));
	}
	if (image_room(image, image->map_start - 1, PF_R) ||
	    image_room(image, image->map_end, PF_R))
		abort();
}

static void use(const struct image *image)
{
	uint8_t id[IMAGE_BUILD_ID_MAX];
	struct image_headers headers;
	uint64_t start, bytes;

	(void)image_read_headers(image, &headers);
	if (image_read_build_id(image, &headers, id) > sizeof(id))
		abort();
	read_rooms(image);
	if (sections_find_eh_frame(image, path, &start, &bytes))
		(void)cfi_index_take_rows(image, (const uint8_t *)(uintptr_t)start, bytes, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	size_t total = bytes < PAGE ? PAGE : bytes;
	uint8_t *memory = mem_new(total, 1);
	uint64_t start = (uint64_t)(uintptr_t)memory;

	memcpy(memory, data, bytes);
	put_file(data, bytes);
	use(&(struct image){.map_start = start, .map_end = start + total, .bias = start});
	free(memory);
	return 0;
}
