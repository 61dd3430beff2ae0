/* replay_main.c -- runs a fuzz target once on each file named, for builds without libFuzzer.
 * Runs: as a test program. A directory stands for the files in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Of exactly the file's size, so that a sanitizer sees a read past its end. */
static uint8_t *load(FILE *f, size_t *bytes)
{
	uint8_t *data = NULL;
	char block[4096];
	size_t n;

	for (*bytes = 0; (n = fread(block, 1, sizeof(block), f)) > 0; *bytes += n) {
		data = mem_resize(data, *bytes + n, 1);
		memcpy(data + *bytes, block, n);
	}
	return data ? data : mem_new(1, 1);
}

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t bytes;

	if (!f) {
		perror(path);
		return 1;
	}
	uint8_t *data = load(f, &bytes);
	(void)fclose(f);
	LLVMFuzzerTestOneInput(data, bytes);
	free(data);
	return 0;
}

static int replay_directory(DIR *directory, const char *path)
{
	struct dirent *entry;
	int result = 0;

	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		char *name = mem_format("%s/%s", path, entry->d_name);
		result |= replay_file(name);
		free(name);
	}
	return result;
}

static int replay(const char *path)
{
	DIR *directory = opendir(path);

	if (!directory)
		return replay_file(path);
	int result = replay_directory(directory, path);
	(void)closedir(directory);
	return result;
}

int main(int argc, char **argv)
{
	int result = argc < 2 ? 2 : 0;

	for (int i = 1; i < argc; i++)
		result |= replay(argv[i]);
	return result;
}
