/* mem.c -- allocation that ends the process with a message when memory runs out. Runs: offline
 * rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *must(void *block)
{
	static const char text[] = "midden: out of memory\n";

	if (block)
		return block;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

void *mem_new(size_t count, size_t size)
{
	return must(calloc(count ? count : 1, size ? size : 1));
}

void *mem_resize(void *block, size_t count, size_t size)
{
	return must(reallocarray(block, count ? count : 1, size ? size : 1));
}

char *mem_copy_string(const char *text)
{
	return must(strdup(text));
}

char *mem_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	int n = vasprintf(&text, format, args);
	va_end(args);
	return must(n < 0 ? NULL : text);
}
