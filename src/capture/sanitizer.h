/* sanitizer.h -- programs that have a sanitizer's malloc built in.
 * Runs: in the library's constructor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_SANITIZER_H
#define MIDDEN_CAPTURE_SANITIZER_H

#include <stdbool.h>

/* Whether the program defines malloc itself as part of a sanitizer's runtime. Nothing could be
 * recorded then, and its malloc must not be called before the runtime is set up: not even by a
 * dlsym that finds nothing. */
bool sanitizer_is_inside(void);

#endif
