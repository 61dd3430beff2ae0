/* machinery.h -- what stands between the functions of a Python program: its import system, and the
 * interpreter's own native code. Runs: offline, called by model.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MACHINERY_H
#define MIDDEN_MODEL_MACHINERY_H

#include "model/model.h"

/* Whose machinery a frame is. */
enum machinery {
	MACHINERY_NONE,
	MACHINERY_IMPORT,      /* a function of Python that carries out an import, or python3 -m */
	MACHINERY_INTERPRETER, /* native code of the interpreter itself */
};

/* By the file of a function of Python, and by the path of the module of native code. */
enum machinery machinery_judge(const struct model_frame *f);

/* True for the file of a function that carries out imports. */
bool machinery_is_importer(const char *file);

/* Takes out of a stack what a reader can do nothing about: functions that carry out imports, and
 * the interpreter's native frames below the innermost function of Python (between others, where
 * all native frames were recorded, they stay); of several in a row there that are of one library
 * and have no names, all but one. Where no Python runs, frames of the interpreter without a name.
 * At least one frame stays. `frames` are the model's; `origins` has an entry for each frame of the
 * stack, or is NULL. */
void machinery_take_out(const struct model_frame *frames, struct model_stack *stack,
			struct model_stack *origins);

#endif
