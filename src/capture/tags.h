/* tags.h -- which tag a thread is in: a tree of tags per thread, in the segment.
 * Runs: any thread of the target, mostly outside of malloc; maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread alone writes to its tree. A signal handler that enters a tag while its thread is making
 * one may make it a second time: whoever reads the trees adds up what has the same path. */
#ifndef MIDDEN_CAPTURE_TAGS_H
#define MIDDEN_CAPTURE_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"
#include "format/segment.h"

struct thread;
struct tags_path;

#define TAGS_CACHE 64u /* tags lately entered, per thread: 1 KiB */

/* A tag that was entered from `parent` by a name that was at this address; what is there now has
 * to be compared. */
struct tags_entry {
	const char *name;
	uint32_t parent;
	uint32_t tag;
};

#define TAGS_FRAMES 64u	 /* of tags around a stack: the innermost ones */
#define TAGS_STACKS 256u /* lately seen inside of tags, per thread: 3 KiB */

/* The node of the stack that is `node` alone and inside of `tag`. */
struct tags_stack {
	uint32_t node;
	uint32_t tag;
	uint32_t inside;
};

/* Where a thread is. All zero: it has no tree yet. */
struct tags {
	/* What the hooks count in, in tag mode and where a word in front of each block tells its
	 * size (counting.h): those of `at`. Otherwise NULL. */
	struct segment_tag_counts *fast;
	struct segment_tag *at; /* the tag; the tree's root outside of all tags */
	struct segment_tag *root;
	struct segment_tag *base; /* entry 0 of the table, as the others are `base` + index */
	const char *text;
	uint64_t epoch;	 /* the process, in the upper half: tells its handles from others' */
	uint32_t failed; /* tags that there was no room for, entered and not left */
	uint32_t serial;
	/* While what is counted is of no interest, whose work that is: counting.c. Otherwise 0. */
	uint32_t masking;
	bool counts;		  /* tag mode */
	struct tags_entry *cache; /* TAGS_CACHE of them; what others left there does no harm */
};

/* Gives an attached thread its tree. False: there is no room. */
bool tags_open(struct thread *t);

/* The node of a stack with the tags that the thread is in as its outermost frames. */
NOINLINE uint32_t tags_add_frames(struct thread *t, uint32_t node);

/* The path of the calling thread, to be found again in a fork child; NULL: it is in no tag, or
 * there is no memory. Freed by tags_drop. */
struct tags_path *tags_save(void);
void tags_drop(struct tags_path *path);

/* In the child: enters the tags of the path. */
void tags_restore(const struct tags_path *path);

#endif
