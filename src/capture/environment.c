/* environment.c -- the environment before libc has it, and how we leave it for others.
 * Runs: at start-up, in the first malloc or the constructor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/environment.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/host.h"
#include "format/env.h"
#include "format/segment.h"

#define COPY_BYTES ((size_t)256 * 1024)

/* The kernel's copy, read once; NUL-separated, ends with an empty string. */
static const char *kernel_copy(void)
{
	static char *copy;
	size_t used = 0;

	if (copy)
		return copy;
	char *text = host_map(COPY_BYTES);
	if (!text)
		return "";
	int fd = (int)HOST_CALL4(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC,
				 0);
	while (fd >= 0 && used < COPY_BYTES - 2) {
		long got = HOST_CALL3(SYS_read, fd, text + used, COPY_BYTES - 2 - used);

		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (fd >= 0)
		(void)host_close(fd);
	copy = text;
	return copy;
}

static char **given; /* by the loader to our constructor, before libc's own has run */

void environment_init(char **envp)
{
	given = envp;
}

static char **known_environment(void)
{
	return environ ? environ : given;
}

/* The value if `entry` is NAME=value. */
static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1
									 : NULL;
}

const char *environment_find(const char *name)
{
	const char *value = NULL;

	char **known = known_environment();

	if (known) {
		for (char **e = known; *e && !value; e++)
			value = value_of(*e, name);
		return value;
	}
	for (const char *e = kernel_copy(); *e && !value; e += strlen(e) + 1)
		value = value_of(e, name);
	return value;
}

/* The digits at `*text`, which is moved behind them and the byte that follows. */
static uint32_t take_number(const char **text)
{
	uint32_t number = 0;

	while (**text >= '0' && **text <= '9')
		number = number * 10 + (uint32_t)(*(*text)++ - '0');
	if (**text)
		(*text)++;
	return number;
}

static uint32_t image = 1; /* outlives the variable, which is taken out */

/* A child may have inherited the variable; it is another process. */
uint32_t environment_find_image(void)
{
	const char *value = environment_find(ENV_IMAGE);

	image = value && take_number(&value) == (uint32_t)host_getpid() ? take_number(&value) : 1;
	return image;
}

uint32_t environment_find_mode(void)
{
	const char *value = environment_find(ENV_MODE);

	return value && strcmp(value, "sample") == 0 ? SEGMENT_MODE_SAMPLE : SEGMENT_MODE_EXACT;
}

static bool is_for_collector(const char *entry, bool settings)
{
	bool is_setting = strncmp(entry, ENV_PREFIX, sizeof(ENV_PREFIX) - 1) == 0;

	return is_setting == settings && !value_of(entry, "LD_PRELOAD") &&
	       !value_of(entry, ENV_MODE);
}

/* Adds the settings that are for us, or all others; returns the new count. */
static size_t add_entries(char **array, size_t count, size_t room, bool settings)
{
	char **known = known_environment();

	if (known) {
		for (char **e = known; *e && count < room - 1; e++)
			if (is_for_collector(*e, settings))
				array[count++] = *e;
		return count;
	}
	for (const char *e = kernel_copy(); *e && count < room - 1; e += strlen(e) + 1)
		if (is_for_collector(e, settings))
			array[count++] = (char *)(uintptr_t)e; /* NOLINT: execve's type */
	return count;
}

/* The mode of this process, for its collector; NULL: the usual one. */
static char *find_target_mode(void)
{
	static char modes[][sizeof(ENV_TARGET_MODE) + 8] = {ENV_TARGET_MODE "=sample",
							    ENV_TARGET_MODE "=tags"};
	const char *mode = environment_find(ENV_MODE);

	for (size_t i = 0; mode && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(mode, modes[i] + sizeof(ENV_TARGET_MODE)) == 0)
			return modes[i];
	return NULL;
}

/* What must not be cut off comes first. The collector itself is not recorded. */
void environment_for_collector(char **array, size_t room)
{
	static char off[] = ENV_MODE "=off";
	char *mode = find_target_mode();
	size_t count = 0;

	array[count++] = off;
	if (mode)
		array[count++] = mode;
	count = add_entries(array, count, room, true);

	count = add_entries(array, count, room, false);
	array[count] = NULL;
}

static void remove_entry(char **entry)
{
	do
		entry[0] = entry[1];
	while (*entry++);
}

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

/* Whether a path of `length` bytes names the file `library`, in whatever directory. */
static bool is_library(const char *path, size_t length, const char *library)
{
	size_t tail = strlen(library);

	return length >= tail && memcmp(path + length - tail, library, tail) == 0 &&
	       (length == tail || path[length - tail - 1] == '/');
}

/* The entries of `list` that are not `library`, as a new LD_PRELOAD setting; NULL if none is left.
 */
static char *without_library(const char *list, const char *library)
{
	static const char name[] = "LD_PRELOAD=";
	char *text = host_map(sizeof(name) + strlen(list) + 1);
	size_t used = sizeof(name) - 1;

	if (!text)
		return NULL;
	memcpy(text, name, used);
	while (*list) {
		size_t length = 0;

		while (list[length] && !is_separator(list[length]))
			length++;
		if (length && !is_library(list, length, library)) {
			if (used > sizeof(name) - 1)
				text[used++] = ':';
			memcpy(text + used, list, length);
			used += length;
		}
		list += length;
		while (is_separator(*list))
			list++;
	}
	return used > sizeof(name) - 1 ? text : NULL;
}

/* What was taken out, kept for an exec: the recorder's socket, and our entry of LD_PRELOAD as it
 * was written. Copies: servers write titles over what the kernel put on the stack. */
static const char *removed_socket;
static const char *removed_library;
static size_t removed_library_length;

/* NULL if there is no memory: the next program is not recorded then. */
static const char *keep(const char *text, size_t length)
{
	char *copy = host_map(length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

static void note_library(const char *list, const char *library)
{
	while (*list) {
		size_t length = strcspn(list, ": ");

		if (is_library(list, length, library)) {
			removed_library = keep(list, length);
			removed_library_length = length;
			return;
		}
		list += length;
		list += strspn(list, ": ");
	}
}

void environment_clean(char **envp, const char *library)
{
	char **e = envp;

	while (e && *e) {
		const char *list = value_of(*e, "LD_PRELOAD");

		if (value_of(*e, ENV_SOCKET))
			removed_socket = keep(*e, strlen(*e));
		if (value_of(*e, ENV_SOCKET) || value_of(*e, ENV_IMAGE)) {
			remove_entry(e);
			continue;
		}
		if (list && strstr(list, library)) {
			char *rest = without_library(list, library);

			note_library(list, library);
			if (!rest) {
				remove_entry(e);
				continue;
			}
			*e = rest;
		}
		e++;
	}
}

/* LD_PRELOAD=OURS[:rest], written at `text`. */
static void join_preload(char *text, const char *rest)
{
	static const char name[] = "LD_PRELOAD=";
	char *at = text + sizeof(name) - 1;

	memcpy(text, name, sizeof(name) - 1);
	memcpy(at, removed_library, removed_library_length);
	at += removed_library_length;
	*at = '\0';
	if (rest) {
		*at = ':';
		memcpy(at + 1, rest, strlen(rest) + 1);
	}
}

static char *put_number(char *at, uint32_t number)
{
	char digits[10];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* MIDDEN_IMAGE=PID.NUMBER of the program that comes next. */
static void join_image(char *text)
{
	static const char name[] = ENV_IMAGE "=";

	memcpy(text, name, sizeof(name) - 1);
	text = put_number(text + sizeof(name) - 1, (uint32_t)host_getpid());
	*text++ = '.';
	text = put_number(text, image + 1);
	*text = '\0';
}

/* A copy is one mapping: its size, then the array, then the texts of LD_PRELOAD and the image. */
struct copy {
	size_t bytes;
	char *entries[];
};

#define IMAGE_TEXT_BYTES 48

static bool is_ours(const char *entry)
{
	return value_of(entry, ENV_IMAGE) || (removed_library && value_of(entry, "LD_PRELOAD"));
}

static size_t copy_others(char **entries, char *const environment[])
{
	size_t used = 0;

	for (size_t i = 0; environment[i]; i++)
		if (!is_ours(environment[i]))
			entries[used++] = environment[i];
	return used;
}

char *const *environment_restore(char *const environment[])
{
	const char *rest = NULL;
	size_t count = 0;

	for (; environment[count]; count++)
		if (value_of(environment[count], "LD_PRELOAD"))
			rest = value_of(environment[count], "LD_PRELOAD");
	/* A recorder counts images itself; what does not load us needs no number. */
	bool is_counted =
		!removed_socket && !environment_find(ENV_SOCKET) && (removed_library || rest);
	if (!removed_library && !is_counted)
		return environment;
	size_t array_bytes = sizeof(struct copy) + (count + 4) * sizeof(char *);
	size_t bytes = array_bytes + IMAGE_TEXT_BYTES + 16 + removed_library_length +
		       (rest ? strlen(rest) : 0);
	struct copy *copy = host_map(bytes);
	if (!copy)
		return environment;
	copy->bytes = bytes;
	size_t used = copy_others(copy->entries, environment);
	char *text = (char *)copy + array_bytes;
	if (is_counted) {
		join_image(text);
		copy->entries[used++] = text;
	}
	if (removed_library) {
		join_preload(text + IMAGE_TEXT_BYTES, rest);
		copy->entries[used++] = text + IMAGE_TEXT_BYTES;
	}
	if (removed_socket)
		copy->entries[used++] =
			(char *)(uintptr_t)removed_socket; /* NOLINT: execve's type */
	return copy->entries;
}

void environment_drop(char *const *copy)
{
	struct copy *start =
		(struct copy *)(uintptr_t)((const char *)copy -
					   offsetof(struct copy, entries)); /* NOLINT */

	(void)HOST_CALL2(SYS_munmap, start, start->bytes);
}
