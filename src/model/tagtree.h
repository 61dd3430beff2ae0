/* tagtree.h -- what was counted by tag, as trees: one per thread, or per pattern of threads. Runs:
 * offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_TAGTREE_H
#define MIDDEN_MODEL_TAGTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "model/pattern.h"
#include "profile/profile.h"

#define TAGTREE_NONE UINT32_MAX

/* Bytes as in struct profile_tag. */
struct tagtree_counts {
	uint64_t entered;
	uint64_t open; /* entered and not left */
	uint64_t requested_bytes;
	uint64_t allocated_bytes;
	uint64_t freed_bytes;
	uint64_t frees;
	uint64_t resizes;
	uint64_t calls[PROFILE_APIS];
};

struct tagtree_node {
	struct string_id name; /* tagtree_get_name */
	uint32_t parent;       /* before it; TAGTREE_NONE: a root */
	uint32_t child;	       /* the first one; TAGTREE_NONE: there is none */
	uint32_t next;	       /* of the same parent */
	uint32_t depth;	       /* 0: a root */
	struct tagtree_counts self;
	struct tagtree_counts total; /* with all inside it */
};

struct tagtree_tree {
	uint32_t root;
	uint32_t tid;	 /* of its first thread */
	uint32_t serial; /* so too */
	uint32_t threads;
	uint32_t nodes;
	uint32_t levels;
	struct string_id name;	    /* of the thread, or of all of them with commas between */
	const struct pattern *rule; /* by which threads were merged; NULL: it is one thread */
};

/* Zero-initialise; free with tagtree_fini. The patterns must outlive it. */
struct tagtree {
	VEC(struct tagtree_tree) trees;
	VEC(struct tagtree_node) nodes;
	struct tagtree_counts total; /* of all trees */
	const struct pattern_list *rules;
	struct profile *texts; /* nothing but a table of strings */
	struct map children;   /* parent and name -> node + 1 */
	struct map owners;     /* file and thread -> tree + 1 */
	uint32_t files;
};

void tagtree_init(struct tagtree *t, const struct pattern_list *rules);
void tagtree_fini(struct tagtree *t);

/* Adds what a profile has for a snapshot (its row plus one), or for the end (0). Threads whose name
 * a rule matches go into one tree, whatever file they are from. */
void tagtree_add(struct tagtree *t, const struct profile *p, uint32_t snapshot);

/* When all has been added: totals, and the largest first. */
void tagtree_finish(struct tagtree *t);

const char *tagtree_get_name(const struct tagtree *t, struct string_id name);

/* What a tree is called: its rule, or its thread's name, or "thread TID". Text as in `buffer`. */
const char *tagtree_get_title(const struct tagtree *t, const struct tagtree_tree *tree,
			      char buffer[32]);

/* The node after `node` within its tree, from the root down; TAGTREE_NONE after the last one. */
uint32_t tagtree_get_next(const struct tagtree *t, uint32_t node);

uint64_t tagtree_get_calls(const struct tagtree_counts *c);

#endif
