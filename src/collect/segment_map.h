/* segment_map.h -- the segment as the collector has it: made, mapped, addressed by its own copy
 * of the layout.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SEGMENT_MAP_H
#define MIDDEN_COLLECT_SEGMENT_MAP_H

#include <stdint.h>

#include "base/error.h"
#include "format/segment.h"

/* A field that the target may change at any time, read once: what was checked is what is used. */
#define read_once(field)     __atomic_load_n(&(field), __ATOMIC_RELAXED)

#define SEGMENT_MAP_TEXT_MAX 4096u /* of a text in `strings`, with its end */

#define SEGMENT_MAP_NAME     "midden" /* in /proc/PID/maps: /memfd:midden */

struct segment_map {
	struct segment_layout layout; /* never read from the segment: the target can write there */
	struct segment_header *header;
	struct segment_slot *slots;
	struct segment_module *modules;
	char *strings;
	struct segment_named *named;
	struct segment_place *places;
	struct segment_node *nodes;
	struct segment_tag *tags;
	char *tag_text;
	struct segment_chunk *chunks;
	int fd;		/* -1 once closed */
	uint64_t inode; /* tells this segment from another one in /proc/PID/maps */
};

/* Sizes of a segment with `*buffer_bytes` of event buffers that takes at most an eighth of the
 * target's address space; scales down, *buffer_bytes too. -1 if even the smallest does not fit. */
int segment_map_plan(struct segment_layout *layout, uint64_t *buffer_bytes,
		     uint64_t address_space_limit, struct error *e);

/* Makes a zeroed segment of this layout and maps it. */
int segment_map_open(struct segment_map *m, const struct segment_layout *layout, struct error *e);

/* Copies the text at an offset of `strings`; what is too long is cut. */
void segment_map_copy_text(const struct segment_map *m, uint32_t offset,
			   char text[static SEGMENT_MAP_TEXT_MAX]);

/* Of a node other than 0; any number, in a broken segment. */
static inline uint32_t segment_map_get_parent(const struct segment_map *m, uint32_t node)
{
	return read_once(m->nodes[node].place) & SEGMENT_NODE_FAR
		       ? read_once(m->nodes[node - 1].place)
		       : node - 1;
}

void segment_map_close_fd(struct segment_map *m);
void segment_map_close(struct segment_map *m);

#endif
