/* display.h -- names and paths as they are shown, worked out once for each.
 * Runs: offline; called while a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_DISPLAY_H
#define MIDDEN_MODEL_DISPLAY_H

#include "base/map.h"
#include "base/vec.h"
#include "model/pathmap.h"
#include "profile/profile.h"

/* Set the first three, zero the rest. */
struct display {
	const struct profile *profile;
	const struct pathmap *paths; /* or NULL */
	bool full_names;	     /* do not shorten C++ names */
	struct map functions;	     /* string id -> index into texts, plus one */
	struct map files;
	VEC(const char *) texts;
	VEC(char *) owned; /* those of the texts that are not the profile's */
};

/* The text of an id, valid until display_fini. */
const char *display_function(struct display *d, struct string_id id);
const char *display_file(struct display *d, struct string_id id);

/* What stands for the module of a frame that has a name only (enum profile_named, or what a newer
 * midden has written): in brackets, as no path is. */
const char *display_named_module(uint32_t kind);

/* Drops the index, which nobody needs when all texts have been asked for; they stay. */
void display_seal(struct display *d);

void display_fini(struct display *d);

#endif
