/* fuzz_names.c -- any text as a linkage name: demangled, made the same for every build, shortened.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/canonical.h"
#include "symbol/demangle.h"
#include "symbol/shorten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Marks are left out of a name; a lambda's own may be replaced by a longer one, and so may what a
 * loose name leaves out. */
static size_t most_bytes(const char *name, unsigned which)
{
	bool is_lambda = strstr(name, "lambda") || strstr(name, "$_");
	bool is_loose = which == 1 || which == 2;

	return is_lambda || is_loose ? 4 * strlen(name) + 8 : strlen(name);
}

static void use(const char *name)
{
	char *const made[] = {canonical_name(name), canonical_loose_name(name),
			      canonical_bare_name(name), shorten_name(name)};

	for (unsigned i = 0; i < 4; i++) {
		if (made[i] && strlen(made[i]) > most_bytes(name, i)) /* NULL: as it was */
			abort();
		free(made[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct notes names = {0};
	char *name = mem_new(bytes + 1, 1);
	bool mangled;

	memcpy(name, data, bytes);
	char *plain = demangle_name(name);
	if (plain)
		use(plain);
	use(name);
	const char *found = demangle_find(&names, name, &mangled);
	if (mangled != (plain != NULL) || (plain && strcmp(found, plain) != 0))
		abort();
	notes_free(&names);
	free(plain);
	free(name);
	return 0;
}
