/* fuzz_perfmap.c -- hostile maps of generated code.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is the file. Whatever it says, an address has one name at most, and it is the one
 * that the last line which covers it gives. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char directory[] = "/tmp/midden-fuzz-XXXXXX";
static char *path;

static void remove_all(void)
{
	(void)unlink(path);
	(void)rmdir(directory);
	free(path);
}

static void prepare(void)
{
	if (!mkdtemp(directory))
		abort();
	path = mem_format("%s/perf-%d.map", directory, (int)getpid());
	if (atexit(remove_all) != 0)
		abort();
}

static void put_file(const uint8_t *data, size_t bytes)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct perfmap_owner owner = {.pid = getpid()};
	struct error e = {0};

	if (!path)
		prepare();
	put_file(data, bytes);
	struct perfmap *m = perfmap_read(directory, &owner, &e);
	if (!m)
		abort();
	for (uint64_t address = 1; address; address <<= 1) {
		const char *name = perfmap_find(m, address - 1);

		if (name && (!*name || strlen(name) > bytes))
			abort();
		(void)perfmap_find(m, address);
	}
	(void)perfmap_find(m, UINT64_MAX);
	perfmap_free(m);
	return 0;
}
