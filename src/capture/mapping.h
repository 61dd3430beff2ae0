/* mapping.h -- the calls by which the program maps memory itself, where they are to be recorded.
 * Runs: at start-up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_MAPPING_H
#define MIDDEN_CAPTURE_MAPPING_H

/* Puts wrappers in front of mmap and its like in all objects, loaded or to be. Without it none of
 * these calls comes to us. Once per program; a fork child has them already. */
void mapping_patch(void);

#endif
