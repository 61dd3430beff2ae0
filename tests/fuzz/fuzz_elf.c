/* fuzz_elf.c -- hostile ELF files, asked for names and lines.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is the file. Most of the work is done by libelf and libdw, so what is found here may be
 * theirs. */
#define _GNU_SOURCE
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_names(const struct symbol_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((frames[i].function && strlen(frames[i].function) > 1u << 20) ||
		    (frames[i].file && strlen(frames[i].file) > 1u << 20))
			abort();
}

static void ask(struct symbol_module *m, uint64_t around)
{
	const struct symbol_frame *frames;

	for (int step = -2; step < 6; step++) {
		size_t count = symbol_find(m, around + (uint64_t)step * 16, &frames);

		read_names(frames, count);
	}
}

static void list_variables(struct symbol_module *m)
{
	const struct symbol_variable *list;
	size_t count = symbol_list_variables(m, true, &list);

	(void)symbol_get_load_address(m);
	for (size_t i = 0; i < count; i++) {
		(void)symbol_name_variable(m, &list[i]);
		if (list[i].size_bytes > UINT64_MAX - list[i].address)
			abort();
	}
}

/* A new file each time, since what is mapped of the last one must not change. */
static char *put_file(const uint8_t *data, size_t bytes, int *fd)
{
	*fd = memfd_create("object", MFD_CLOEXEC);
	if (*fd < 0 || pwrite(*fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
	return mem_format("/proc/self/fd/%d", *fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const nowhere[] = {"/nonexistent", NULL};
	const struct symbol_options options = {.debug_dirs = nowhere};
	struct error e = {0};
	Elf64_Ehdr header = {.e_entry = 0};
	int fd;

	(void)unsetenv("DEBUGINFOD_URLS");
	memcpy(&header, data, bytes < sizeof(header) ? bytes : sizeof(header));
	char *path = put_file(data, bytes, &fd);
	struct symbol_module *m = symbol_open(path, NULL, 0, &options, &e);
	if (m) {
		ask(m, header.e_entry);
		ask(m, 0x1000);
		list_variables(m);
		symbol_close(m);
	} else if (!e.set) {
		abort();
	}
	(void)close(fd);
	free(path);
	return 0;
}
