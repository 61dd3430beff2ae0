/* fuzz_config.c -- any text as a file of settings. Runs: under libFuzzer, or on single files with
 * replay_main.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct config c = {0};
	struct error e = {0};
	/* Without an end of its own, so that a sanitizer sees who reads on. */
	char *text = mem_new(bytes + 1, 1);
	char *exact = mem_resize(text, bytes ? bytes : 1, 1);

	memcpy(exact, data, bytes);
	if ((config_parse(&c, exact, bytes, "file", &e) == 0) == e.set)
		abort();
	for (size_t i = 0; i < c.entries.count; i++)
		if (!*c.entries.at[i].key || strncmp(c.entries.at[i].origin, "file:", 5) != 0)
			abort();
	config_free(&c);
	free(exact);
	return 0;
}
