/* deepbind.h -- those who ask libc itself for a function that we stand in for.
 * Runs: at start-up, while there is one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_DEEPBIND_H
#define MIDDEN_CAPTURE_DEEPBIND_H

/* From now on they find ours: libraries that are loaded with RTLD_DEEPBIND, and dlsym with libc's
 * handle. Where malloc is not libc's, nothing is done; where another library's definition of one of
 * them is between ours and libc's, nothing about its kind: blocks, processes. */
void deepbind_patch(void);

#endif
