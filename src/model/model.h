/* model.h -- a profile made ready for reading: stacks of named frames over the recorded sites.
 * Runs: offline; immutable once built, so any number of threads may read one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MODEL_H
#define MIDDEN_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/pathmap.h"
#include "profile/profile.h"

/* Frames of one stack that are looked at; a recorder's limit is far lower, a hostile file has none.
 */
#define MODEL_STACK_MAX 4096u

/* One line of a stack, unique by content. Texts are never NULL; "" is unknown. */
struct model_frame {
	const char *function;
	const char *module; /* path; what it is in brackets if it has a name only */
	const char *file;
	const char *apart; /* of a merged profile, where another module has a function of this name
			      from a file of this name: what the module is to be called; or NULL */
	uint64_t offset;   /* without a function: ELF address in the module, or the address if there
			    is none */
	uint64_t seen_at;  /* ELF address in the module of one place where it was seen; tells
			     nothing apart */
	uint32_t line;	   /* 0 unknown */
	uint32_t named;	   /* enum profile_named: not 0 if it has no address, but a name only */
	uint32_t group; /* id of the first frame of the same function: what tells functions apart */
	bool inlined;	/* into the frame that comes next towards the root */
	bool placeholder;  /* not a function: stands for frames that are not known */
	bool hidden;	   /* an allocator's own entry: left out while it is the leaf */
	uint32_t stand_in; /* without a name, in a Python program: the id of the frame that stands
			      for all such ones of its module, plus one; or 0 */
	uint8_t machinery; /* enum machinery: of Python's own, left out as machinery.h says */
	uint8_t plumbing;  /* enum plumbing: of a standard library, the same as plumbing.h says */
};

/* The function of the frame that a stand_in refers to. */
#define MODEL_NATIVE_CODE "[native code]"

struct model_options {
	bool all_frames;	     /* show hidden frames, plumbing and machinery too */
	bool hide_imports;	     /* fold imports of Python into a frame each: imports.h */
	bool full_names;	     /* show C++ names with all their default arguments */
	const struct pathmap *paths; /* where source files are; NULL: where the compiler saw them.
					Used by model_new alone */
};

/* Ids of frames, the allocating one first. Zero-initialise; free with vec_free(&stack.frames). */
struct model_stack {
	VEC(uint32_t) frames;
};

struct model;

/* Builds the model of a profile, which must outlive it unchanged. Never NULL. */
struct model *model_new(const struct profile *p, const struct model_options *options);
void model_free(struct model *m);

const struct profile *model_get_profile(const struct model *m);

/* Frames have ids from 0 to count - 1, in the order of their names: comparing ids compares names.
 */
size_t model_get_frame_count(const struct model *m);
const struct model_frame *model_get_frame(const struct model *m, uint32_t id);

/* Puts the stack of a site in place of what `stack` holds: at least one frame, at most
 * MODEL_STACK_MAX. */
void model_get_stack(const struct model *m, size_t site, struct model_stack *stack);

/* The same of the stack that ends in a node of the profile. */
void model_get_path(const struct model *m, uint32_t node, struct model_stack *stack);

/* The same as model_get_stack with what plumbing.h leaves out: for who looks for names. */
void model_get_named_stack(const struct model *m, size_t site, struct model_stack *stack);

/* Puts the frames of one node of the profile, other than 0, in place of what `stack` holds: what
 * was inlined first, then the function that really is called. */
void model_get_node(const struct model *m, uint32_t node, struct model_stack *stack);

/* The same as model_get_stack, and in `origins` for each frame the node of the profile that it
 * comes from; 0 for the placeholder of a stack without frames. Frames of one node are one call:
 * what was inlined first, the function that really is called last. */
void model_get_calls(const struct model *m, size_t site, struct model_stack *stack,
		     struct model_stack *origins);

#endif
