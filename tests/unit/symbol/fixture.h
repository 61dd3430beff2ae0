/* fixture.h -- builds small programs in a directory of their own.
 * Runs: in the unit tests of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_SYMBOL_FIXTURE_H
#define MIDDEN_TESTS_SYMBOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "symbol/symbol.h"

static char fixture_dir[4096];

static inline int fixture_begin(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	(void)snprintf(fixture_dir, sizeof(fixture_dir), "%s/midden-symbol-XXXXXX",
		       base ? base : "/tmp");
	return mkdtemp(fixture_dir) ? 0 : -1;
}

/* Runs a shell command inside the fixture's directory; its exit status. */
__attribute__((format(printf, 1, 2))) static inline int fixture_run(const char *format, ...)
{
	char command[4096];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	char *whole = mem_format("cd %s && { %s; } >log 2>&1", fixture_dir, command);
	int status = system(whole);
	free(whole);
	return status;
}

static inline int fixture_end(void **state)
{
	(void)state;
	return fixture_run("rm -rf %s", fixture_dir);
}

#define fixture_must_run(...) assert_int_equal(fixture_run(__VA_ARGS__), 0)

/* A name inside the directory; good until the next call but three. */
static inline const char *fixture_path(const char *name)
{
	static char paths[4][8192];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", fixture_dir, name);
	return path;
}

static inline void fixture_write(const char *name, const void *data, size_t bytes)
{
	FILE *file = fopen(fixture_path(name), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

static inline void fixture_write_text(const char *name, const char *text)
{
	fixture_write(name, text, strlen(text));
}

/* The whole file, malloc'ed and NUL-terminated. */
static inline char *fixture_read(const char *name, size_t *bytes)
{
	FILE *file = fopen(fixture_path(name), "re");
	char *data = NULL;
	size_t used = 0;

	assert_non_null(file);
	do {
		data = mem_resize(data, used + 65537, 1);
		used += fread(data + used, 1, 65536, file);
	} while (!feof(file) && !ferror(file));
	assert_int_equal(fclose(file), 0);
	data[used] = '\0';
	if (bytes)
		*bytes = used;
	return data;
}

/* The address (or with `column` 1 the size) that nm gives for a symbol. */
static inline uint64_t fixture_nm(const char *program, const char *symbol, int column)
{
	fixture_must_run("nm -S %s | awk '$NF == \"%s\" { print $1, (NF > 3 ? $2 : 0) }' >nm.out",
			 program, symbol);
	char *text = fixture_read("nm.out", NULL);
	unsigned long long values[2] = {0};

	assert_int_equal(sscanf(text, "%llx %llx", &values[0], &values[1]), 2);
	free(text);
	return values[column];
}

static inline uint64_t fixture_address(const char *program, const char *symbol)
{
	return fixture_nm(program, symbol, 0);
}

/* The last build-id note of a program in hexadecimal, into `hex`; its bytes into `id`, their number
 * returned. */
static inline size_t fixture_build_id(const char *program, char hex[65], uint8_t id[32])
{
	size_t bytes = 0;

	fixture_must_run("readelf -n %s | sed -n 's/.*Build ID: //p' >id.out", program);
	char *text = fixture_read("id.out", NULL);
	assert_int_equal(sscanf(text, "%64[0-9a-f]", hex), 1);
	free(text);
	for (; hex[2 * bytes]; bytes++) {
		char pair[3] = {hex[2 * bytes], hex[2 * bytes + 1], 0};

		id[bytes] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return bytes;
}

static inline struct symbol_module *fixture_open(const char *name)
{
	struct error e = {0};
	struct symbol_module *m = symbol_open(fixture_path(name), NULL, 0, NULL, &e);

	if (!m)
		fail_msg("%s", e.text);
	return m;
}

#endif
