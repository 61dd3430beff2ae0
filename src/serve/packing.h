/* packing.h -- the columns and texts of a pack while it is put together. Runs: offline; called by
 * pack.c and pack_memory.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_PACKING_H
#define MIDDEN_SERVE_PACKING_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "export/chains.h"
#include "model/model.h"

#define PACKING_NAME_BYTES 40

enum packing_type { PACKING_U8, PACKING_U32, PACKING_F64 };

struct packing_column {
	char name[PACKING_NAME_BYTES];
	enum packing_type type;
	size_t count;
	void *values; /* owned */
};

/* Zero-initialise, set the model and its profile; packing_fini frees. */
struct packing {
	const struct model *model;
	const struct profile *profile;
	VEC(struct packing_column) columns;
	struct chains chains;	  /* of display frames, from the root */
	struct map string_of;	  /* hash of a text to its number in `texts` plus one */
	VEC(const char *) texts;  /* in the order of their numbers; 0 is "" */
	VEC(char *) made;	  /* texts that are nobody else's */
	VEC(uint32_t) site_nodes; /* by site: where its stack ends in `chains` */
	struct model_stack stack; /* of packing_find_stack */
	uint32_t *own;		  /* by node of the profile, once asked for: packing_add_own */
};

/* A member of each row of a table, by its offset. */
struct packing_member {
	const char *name;
	size_t offset;
};

struct packing_table {
	const char *name;
	const void *rows;
	size_t count;
	size_t row_bytes;
};

/* clang-format off */
#define PACKING_MEMBER(type, field) {#field, offsetof(type, field)}
#define PACKING_TABLE(name, vec) {name, (vec).at, (vec).count, sizeof(*(vec).at)}
/* clang-format on */

/* Figures of struct profile_site, for those of blocks and of maps. */
extern const struct packing_member packing_site_numbers[];

/* The values of a new column, all 0, to be filled in. */
void *packing_add_column(struct packing *p, enum packing_type type, size_t count, const char *table,
			 const char *name);

/* The page's numbers are doubles: whole up to 2^53, which no count or size of a real program
 * passes. UINT64_MAX, which stands for "none", becomes -1. */
double packing_get_number(uint64_t value);

/* A column for each member; these are uint64_t and uint32_t. */
void packing_add_numbers(struct packing *p, const struct packing_table *t,
			 const struct packing_member *members);
void packing_add_ids(struct packing *p, const struct packing_table *t,
		     const struct packing_member *members);

/* The column `own`: for each row the frame of its stack that a reader can do something about;
 * UINT32_MAX: there is none. */
void packing_add_own(struct packing *p, const struct profile_site *rows, size_t count,
		     const char *table);

/* Where the stack that ends in a node of the profile ends in `chains`. */
uint32_t packing_find_stack(struct packing *p, uint32_t node);

/* The number of a text, which must outlive the pack. */
uint32_t packing_find_text(struct packing *p, const char *text);

/* The columns of all texts that were asked for. */
void packing_add_texts(struct packing *p);

const char *packing_name_type(enum packing_type type);
size_t packing_get_bytes(const struct packing_column *c);

void packing_fini(struct packing *p);

#endif
