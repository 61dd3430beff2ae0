/* presets.c -- profiles of settings that need no file. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/presets.h"

#include <stddef.h>
#include <string.h>

/* The bytes between samples are MALT's. */
static const struct preset presets[] = {
	{"python-default", {{"python", "only"}}},
	{"python-only", {{"python", "only"}}},
	{"python-mix", {{"python", "mixed"}}},
	{"python-domains", {{"python", "domains"}}},
	{"python-full", {{"python", "full"}, {"pymalloc", "exact"}}},
	{"python-no-stack", {{"tags", "true"}}},
	{"python-sampling", {{"sample", "4093"}, {"python", "full"}}},
	{"python-sampling-10M", {{"sample", "10485767"}, {"python", "full"}}},
	{"python-sampling-20M", {{"sample", "20971529"}, {"python", "full"}}},
};

const struct preset *presets_find(const char *name)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}
