/* nearest.h -- the word that a misspelt one was probably meant for. Runs: in the midden command,
 * pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_NEAREST_H
#define MIDDEN_CLI_NEAREST_H

struct nearest {
	const char *name;
	const char *found; /* the nearest so far; NULL: none is near */
	unsigned fewest;
};

struct nearest nearest_begin(const char *name);
void nearest_try(struct nearest *n, const char *word);

#endif
