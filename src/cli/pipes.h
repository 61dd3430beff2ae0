/* pipes.h -- whole messages through pipes. Runs: in the recorder, its collectors and its namer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PIPES_H
#define MIDDEN_CLI_PIPES_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, or false: the other end is closed. SIGPIPE must be ignored. */
bool pipes_read(int in, void *to, size_t bytes);
bool pipes_write(int out, const void *from, size_t bytes);

/* Whether somebody still has the other end. */
bool pipes_has_other_end(int end);

#endif
