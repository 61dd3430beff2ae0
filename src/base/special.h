/* special.h -- devices and pipes under the name of a file that is to be written.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_SPECIAL_H
#define MIDDEN_BASE_SPECIAL_H

#include <stdbool.h>

/* Whether something is there that is neither a file nor a directory. It is written to in place: a
 * file renamed over /dev/null would replace it for everyone. */
bool special_is(const char *path);

/* Opens it for writing. -1 with errno; EPERM if it, or the link that leads to it, belongs to
 * neither this user nor root, and is none of this process's standard descriptors: in a directory
 * that others can write to, they may have put it there to read what we write. */
int special_open(const char *path);

#endif
