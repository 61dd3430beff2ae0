/* environment.c -- the environment before libc has it, and how we leave it for others.
 * Runs: at start-up, in the first malloc or the constructor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/environment.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/host.h"
#include "format/env.h"

#define COPY_BYTES (256 * 1024)

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
	int fd = (int)HOST_CALL4(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
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

/* The value if `entry` is NAME=value. */
static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

const char *environment_find(const char *name)
{
	const char *value = NULL;

	if (environ) {
		for (char **e = environ; *e && !value; e++)
			value = value_of(*e, name);
		return value;
	}
	for (const char *e = kernel_copy(); *e && !value; e += strlen(e) + 1)
		value = value_of(e, name);
	return value;
}

void environment_without_preload(char **array, size_t room)
{
	size_t count = 0;

	if (environ) {
		for (char **e = environ; *e && count < room - 1; e++)
			if (!value_of(*e, "LD_PRELOAD"))
				array[count++] = *e;
	} else {
		for (const char *e = kernel_copy(); *e && count < room - 1; e += strlen(e) + 1)
			if (!value_of(e, "LD_PRELOAD"))
				array[count++] = (char *)(uintptr_t)e; /* NOLINT: execve's type */
	}
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

/* The entries of `list` that are not `library`, as a new LD_PRELOAD setting; NULL if none is left. */
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

void environment_clean(char **envp, const char *library)
{
	char **e = envp;

	while (e && *e) {
		const char *list = value_of(*e, "LD_PRELOAD");

		if (value_of(*e, ENV_SOCKET)) {
			remove_entry(e);
			continue;
		}
		if (list && strstr(list, library)) {
			char *rest = without_library(list, library);

			if (!rest) {
				remove_entry(e);
				continue;
			}
			*e = rest;
		}
		e++;
	}
}
