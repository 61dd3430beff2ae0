/* fuzz_shorten.c -- any text as the name of a function.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/shorten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What comes back is shorter than what went in, so that shortening it again and again ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *name = mem_new(bytes + 1, 1);

	memcpy(name, data, bytes);
	while (name) {
		char *shorter = shorten_name(name);

		if (shorter && strlen(shorter) >= strlen(name))
			abort();
		free(name);
		name = shorter;
	}
	return 0;
}
