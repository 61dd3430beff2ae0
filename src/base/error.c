/* error.c -- one error, filled by the first fault. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int set(struct error *e, int64_t offset, const char *format, va_list args)
{
	if (!e || e->set)
		return -1;
	e->set = true;
	e->offset = offset;
	(void)vsnprintf(e->text, sizeof(e->text), format, args);
	return -1;
}

int error_set(struct error *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(e, -1, format, args);
	va_end(args);
	return -1;
}

int error_set_at(struct error *e, int64_t offset, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(e, offset, format, args);
	va_end(args);
	return -1;
}

int error_set_errno(struct error *e, const char *format, ...)
{
	int number = errno;
	va_list args;

	if (!e || e->set)
		return -1;
	va_start(args, format);
	set(e, -1, format, args);
	va_end(args);

	size_t used = strlen(e->text);
	(void)snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(number));
	return -1;
}
