/* match.h -- which functions and modules of two profiles are the same, whatever their addresses.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MATCH_H
#define MIDDEN_MODEL_MATCH_H

#include "model/model.h"

enum match_level {
	MATCH_STRICT, /* canonical name and module */
	MATCH_LOOSE,  /* the same without parameters: overloads are one */
	MATCH_BARE,   /* and without the arguments of templates */
	MATCH_MODULE, /* the module alone */
	MATCH_LEVELS
};

/* The numbers of frames, the same in both models for the same function. A module is known by its
 * base name without version, and the program is the same module whatever it is called. Frames
 * without a function are told apart by their address if both models have the same build of their
 * module; otherwise they are one. Numbers begin with 1. */
struct match {
	uint32_t *numbers[2][MATCH_LEVELS]; /* by model, level and frame id */
	uint32_t count;			    /* one past the largest number */
};

/* Never NULL. */
struct match *match_new(const struct model *const models[2]);
void match_free(struct match *m);

#endif
