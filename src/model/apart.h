/* apart.h -- functions of several programs or builds in one profile that read the same.
 * Runs: offline; called when a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_APART_H
#define MIDDEN_MODEL_APART_H

#include <stddef.h>

#include "model/model.h"

/* Fills in `apart` where it is needed: with the name of the module, or with its path if the names
 * are the same too. */
void apart_mark(struct model_frame *frames, size_t count);

#endif
