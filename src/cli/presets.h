/* presets.h -- profiles of settings that need no file: those of Python, by MALT's names.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PRESETS_H
#define MIDDEN_CLI_PRESETS_H

#define PRESETS_MOST 3

struct preset {
	const char *name;
	struct {
		const char *key;
		const char *value;
	} settings[PRESETS_MOST]; /* up to the first without a key */
};

/* NULL if there is none of this name. */
const struct preset *presets_find(const char *name);

#endif
