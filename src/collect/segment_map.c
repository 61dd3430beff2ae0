/* segment_map.c -- the segment as the collector has it: made, mapped, addressed by its own copy
 * of the layout.
 * Runs: in the collector process, one thread, when a target says hello.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/segment_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* The segment is sparse: only what is used takes memory, so the sizes are generous. */
#define SLOTS_MAX	 16384u
#define SLOTS_MIN	 256u
#define MODULES_MAX	 4096u
#define MODULES_MIN	 512u
#define STRING_BYTES_MAX (16u << 20)
#define STRING_BYTES_MIN (256u << 10)
#define NAMED_MAX	 1048576u
#define NAMED_MIN	 16384u
#define PLACES_MAX	 1048576u
#define PLACES_MIN	 32768u
#define NODES_MAX	 8388608u
#define NODES_MIN	 65536u
#define TAGS_MAX	 1048576u /* 128 MiB */
#define TAGS_MIN	 4096u
#define TAG_TEXT_MAX	 (64u << 20)
#define TAG_TEXT_MIN	 (256u << 10)
#define BUFFER_MIN	 (UINT64_C(1) << 20)
#define BUFFER_MAX	 (UINT64_C(8) << 30)
#define ADDRESS_SHARE	 8u
#define SHIFT_MAX	 16u /* everything is at its minimum then */

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

/* `shift`: everything by that power of two smaller, but not below its minimum. */
static void plan(struct segment_layout *l, uint64_t *buffer_bytes, unsigned shift)
{
	*buffer_bytes = clamp(*buffer_bytes >> shift, BUFFER_MIN, BUFFER_MAX);
	*l = (struct segment_layout){
		.slot_count = (uint32_t)clamp(SLOTS_MAX >> shift, SLOTS_MIN, SLOTS_MAX),
		.module_count = (uint32_t)clamp(MODULES_MAX >> shift, MODULES_MIN, MODULES_MAX),
		.string_bytes = (uint32_t)clamp(STRING_BYTES_MAX >> shift, STRING_BYTES_MIN,
						STRING_BYTES_MAX),
		.named_count = (uint32_t)clamp(NAMED_MAX >> shift, NAMED_MIN, NAMED_MAX),
		.place_count = (uint32_t)clamp(PLACES_MAX >> shift, PLACES_MIN, PLACES_MAX),
		.node_count = (uint32_t)clamp(NODES_MAX >> shift, NODES_MIN, NODES_MAX),
		.tag_count = (uint32_t)clamp(TAGS_MAX >> shift, TAGS_MIN, TAGS_MAX),
		.tag_text_bytes =
			(uint32_t)clamp(TAG_TEXT_MAX >> shift, TAG_TEXT_MIN, TAG_TEXT_MAX),
	};
	/* One more per thread: each may always hold the chunk that it writes. */
	l->chunk_count = (uint32_t)(*buffer_bytes / SEGMENT_CHUNK_BYTES) + l->slot_count;
	segment_layout_build(l);
}

static uint64_t get_file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

int segment_map_plan(struct segment_layout *layout, uint64_t *buffer_bytes,
		     uint64_t address_space_limit, struct error *e)
{
	uint64_t wanted = clamp(*buffer_bytes, BUFFER_MIN, BUFFER_MAX);
	uint64_t file_limit = get_file_limit();

	for (unsigned shift = 0; shift <= SHIFT_MAX; shift++) {
		*buffer_bytes = wanted;
		plan(layout, buffer_bytes, shift);
		if (layout->total_bytes > address_space_limit / ADDRESS_SHARE)
			continue;
		/* One that is too large as a file even so is told when that is made. */
		if (layout->total_bytes <= file_limit || shift == SHIFT_MAX)
			return 0;
	}
	return error_set(e,
			 "the program's address space limit of %llu MiB leaves no room for "
			 "midden's segment of %llu MiB (raise ulimit -v)",
			 (unsigned long long)(address_space_limit >> 20),
			 (unsigned long long)(layout->total_bytes >> 20));
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Kernels since 6.3 want to be told that no code will run from it, and may refuse without. */
static int open_memfd(void)
{
	int fd = memfd_create(SEGMENT_MAP_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(SEGMENT_MAP_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

static int open_unlinked(const char *directory, const char *pattern)
{
	char path[64];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	memcpy(path, pattern, strlen(pattern) + 1);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

/* Where memfd is missing or forbidden. Such a file cannot be sealed: a target that cuts it short
 * on purpose can end its collector. */
static int open_file(void)
{
	int fd = open_unlinked("/dev/shm", "/dev/shm/midden.XXXXXX");

	return fd >= 0 ? fd : open_unlinked("/tmp", "/tmp/midden.XXXXXX");
}

/* ftruncate beyond the limit would not fail but kill us with SIGXFSZ. */
static int check_file_limit(uint64_t bytes, struct error *e)
{
	if (get_file_limit() < bytes)
		return error_set(e,
				 "the file size limit is too low for a segment of %llu MiB "
				 "(raise ulimit -f)",
				 (unsigned long long)(bytes >> 20));
	return 0;
}

static int make_file(uint64_t bytes, struct error *e)
{
	if (check_file_limit(bytes, e))
		return -1;

	int fd = open_memfd();
	if (fd < 0)
		fd = open_file();
	if (fd < 0)
		return error_set_errno(e, "cannot make the shared memory segment");
	if (ftruncate(fd, (off_t)bytes) < 0) {
		error_set_errno(e, "cannot size the shared memory segment");
		(void)close(fd);
		return -1;
	}
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

/* ---- the mapping ----------------------------------------------------------------------------- */

static void address(struct segment_map *m, char *base)
{
	m->header = (void *)base;
	m->slots = (void *)(base + m->layout.slots_offset);
	m->modules = (void *)(base + m->layout.modules_offset);
	m->strings = base + m->layout.strings_offset;
	m->named = (void *)(base + m->layout.named_offset);
	m->places = (void *)(base + m->layout.places_offset);
	m->nodes = (void *)(base + m->layout.nodes_offset);
	m->tags = (void *)(base + m->layout.tags_offset);
	m->tag_text = base + m->layout.tag_text_offset;
	m->chunks = (void *)(base + m->layout.chunks_offset);
}

/* Only a memfd could be sealed. The question fails for most other files. */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals > 0 && (seals & F_SEAL_SHRINK);
}

int segment_map_open(struct segment_map *m, const struct segment_layout *layout, struct error *e)
{
	struct stat status;

	*m = (struct segment_map){.layout = *layout};
	m->fd = make_file(layout->total_bytes, e);
	if (m->fd < 0)
		return -1;
	/* A memfd has an inode that the maps of a process show as it is; that of a file may look
	 * otherwise there (overlays). */
	if (is_sealed(m->fd) && fstat(m->fd, &status) == 0)
		m->inode = status.st_ino;

	void *base = mmap(NULL, layout->total_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	if (base == MAP_FAILED) {
		error_set_errno(e, "cannot map the shared memory segment");
		segment_map_close_fd(m);
		return -1;
	}
	address(m, base);
	return 0;
}

void segment_map_copy_text(const struct segment_map *m, uint32_t offset,
			   char text[static SEGMENT_MAP_TEXT_MAX])
{
	size_t length = 0;

	while (length < SEGMENT_MAP_TEXT_MAX - 1 &&
	       (uint64_t)offset + length < m->layout.string_bytes) {
		text[length] = read_once(m->strings[offset + length]);
		if (!text[length])
			break;
		length++;
	}
	text[length] = '\0';
}

void segment_map_close_fd(struct segment_map *m)
{
	if (m->fd >= 0)
		(void)close(m->fd);
	m->fd = -1;
}

void segment_map_close(struct segment_map *m)
{
	segment_map_close_fd(m);
	if (m->header)
		(void)munmap(m->header, m->layout.total_bytes);
	m->header = NULL;
}
