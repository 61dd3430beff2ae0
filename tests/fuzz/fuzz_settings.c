/* fuzz_settings.c -- any environment: what the library takes out of it and puts back, the values of
 * its variables, names of files, sizes as people type them.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of entries, each ended by a NUL byte. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amounts.h"
#include "base/mem.h"
#include "capture/environment.h"
#include "capture/host.h"
#include "cli/recording.h"
#include "format/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define ENTRIES_MOST 64u
#define MAPS_MOST    (ENTRIES_MOST + 8)
#define PAGE	     4096u

/* ---- memory that can be given back, and in which a sanitizer sees the ends ------------------- */

static void *maps[MAPS_MOST];
static size_t map_count;

/* In place of the library's own. Never at the start of a page, so that environment_drop, which
 * hands it to the kernel, does no harm. */
void *host_map(size_t bytes)
{
	if (map_count == MAPS_MOST)
		return NULL;
	char *block = mem_new(bytes + 16, 1);

	maps[map_count++] = block;
	return (uintptr_t)block % PAGE ? block : block + 16;
}

static void free_maps(void)
{
	while (map_count)
		free(maps[--map_count]);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void parse_amounts(const char *text)
{
	struct recording_options options = {0};
	struct error e = {0};
	uint64_t value;

	(void)amounts_parse_bytes(text, &value);
	(void)amounts_parse_count(text, &value);
	(void)amounts_parse_percent(text, &value);
	if (recording_set_max_depth(&options, text, &e) == 0 &&
	    (options.collect.max_depth < 8 || options.collect.max_depth > 16384))
		abort();
	if (recording_set_buffer(&options, text, &e) == 0 &&
	    options.collect.buffer_bytes > UINT64_C(1) << 30)
		abort();
	if (recording_set_patience(&options, text, &e) == 0 && options.collect.patience_ms < 10)
		abort();
}

/* Only the pattern may bring a slash into the name. */
static void make_names(const char *pattern)
{
	const struct recording_subject subject = {
		.program = "app", .pid = 17, .rank = {.number = 3}, .image = 2};
	char *name = recording_output_name(pattern, &subject);

	if (*pattern && strlen(name) < strlen(pattern) / 2)
		abort();
	free(name);
}

static void read_variables(char **entries)
{
	struct recording_options options;
	struct error e = {0};
	char **kept = environ;

	environ = entries;
	(void)environment_find(ENV_MODE);
	if ((recording_options_init(&options, &e) == 0) == e.set)
		abort();
	make_names(options.output ? options.output : "");
	char *copy[ENTRIES_MOST / 2];
	environment_for_collector(copy, ENTRIES_MOST / 2);
	environ = kept;
}

/* ---- what is taken out comes back ------------------------------------------------------------ */

static size_t count_entries(char *const *entries)
{
	size_t count = 0;

	while (entries[count])
		count++;
	return count;
}

/* What an earlier input left behind must not be used by this one. */
static void forget(void)
{
	static char preload[] = "LD_PRELOAD=/lib/libmidden.so";
	static char socket[] = ENV_SOCKET "=/run/socket";
	char *known[] = {preload, socket, NULL};

	environment_clean(known, "libmidden.so");
	if (known[0])
		abort();
}

static void clean_and_restore(char **entries)
{
	size_t before = count_entries(entries);

	forget();
	environment_clean(entries, "libmidden.so");
	if (count_entries(entries) > before)
		abort();
	for (char **e = entries; *e; e++)
		if (strncmp(*e, ENV_SOCKET "=", sizeof(ENV_SOCKET)) == 0)
			abort();
	char *const *restored = environment_restore(entries);
	if (count_entries(restored) > before + 2 || !strstr(*restored, ""))
		abort();
	if (restored != entries)
		environment_drop(restored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = mem_new(bytes + 1, 1);
	char *entries[ENTRIES_MOST + 1] = {NULL};
	size_t count = 0;

	memcpy(text, data, bytes);
	for (char *at = text; at < text + bytes && count < ENTRIES_MOST; at += strlen(at) + 1) {
		entries[count++] = at;
		parse_amounts(at);
		make_names(at);
	}
	read_variables(entries);
	clean_and_restore(entries);
	free_maps();
	free(text);
	return 0;
}
