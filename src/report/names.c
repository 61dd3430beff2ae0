/* names.c -- a frame as text: safe to print, and short enough for the line.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define SHORTEST_FUNCTION 16u /* columns a function keeps however narrow the terminal is */

/* Writes the escape of a code point; returns its characters, at most 4 per byte of UTF-8. */
static size_t put_escape(char *out, uint32_t code)
{
	const char *format = code < 0x80 ? "\\x%02" PRIx32 : "\\u%04" PRIx32;

	return (size_t)sprintf(out, code > 0xffff ? "\\U%08" PRIx32 : format, code);
}

char *names_escape(const char *text, bool utf8)
{
	char *escaped = mem_new(4 * strlen(text) + 1, 1);
	char *out = escaped;
	uint32_t code;

	while (*text) {
		size_t bytes = utf8_decode(text, &code);
		if (bytes == 0) {
			out += sprintf(out, "\\x%02" PRIx32, code);
			bytes = 1;
		} else if (utf8_is_unsafe(code) || (code >= 0x80 && !utf8)) {
			out += put_escape(out, code);
		} else {
			memcpy(out, text, bytes);
			out += bytes;
		}
		text += bytes;
	}
	return escaped;
}

/* The address of the n-th code point of an escaped text. */
static char *skip(char *text, size_t n)
{
	uint32_t code;

	while (n-- > 0)
		text += utf8_decode(text, &code);
	return text;
}

void names_shorten(char *text, size_t columns, bool utf8)
{
	const char *mark = utf8 ? "\xe2\x80\xa6" : "...";
	size_t length = utf8_length(text);
	size_t mark_columns = utf8 ? 1 : 3;

	/* Either mark takes three bytes: at least three code points go, so it fits in place. */
	if (length <= columns || columns < mark_columns || length < 3)
		return;
	size_t kept = columns - mark_columns;
	if (length - kept < 3)
		kept = length - 3;
	char *gap = skip(text, kept - kept / 3);
	char *tail = skip(text, length - kept / 3);
	memmove(gap + 3, tail, strlen(tail) + 1);
	memcpy(gap, mark, 3);
}

const char *names_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *without_directory(const char *file, const char *directory)
{
	size_t length = strlen(directory);

	if (length > 1 && strncmp(file, directory, length) == 0 && file[length] == '/')
		return file + length + 1;
	return file;
}

static char *plain_name(const struct model_frame *f)
{
	if (*f->function)
		return mem_copy_string(f->function);
	if (*f->module)
		return mem_format("%s+0x%" PRIx64, names_base(f->module), f->offset);
	return mem_format("0x%" PRIx64, f->offset);
}

static char *plain_place(const struct model_frame *f, const char *directory)
{
	const char *file = without_directory(f->file, directory);
	const char *apart = f->apart ? without_directory(f->apart, directory) : "";
	const char *comma = *apart ? ", " : "";

	if (*file && f->line)
		return mem_format("%s:%" PRIu32 "%s%s", file, f->line, comma, apart);
	if (*file)
		return mem_format("%s%s%s", file, comma, apart);
	if (*apart)
		return mem_copy_string(apart);
	if (f->named == PROFILE_NAMED_PYTHON)
		return mem_copy_string(""); /* what stands for an import */
	return mem_copy_string(*f->function ? names_base(f->module) : "");
}

struct names_label names_label(const struct model_frame *f, const char *directory, bool utf8)
{
	char *name = plain_name(f);
	char *place = plain_place(f, directory);
	struct names_label label = {names_escape(name, utf8), names_escape(place, utf8)};

	free(name);
	free(place);
	return label;
}

void names_label_free(struct names_label *l)
{
	free(l->name);
	free(l->place);
}

/* Those of the file; a module behind it is told by its path. */
static void leave_out_directories(char *place)
{
	char *comma = strstr(place, ", ");
	char *slash = NULL;

	for (char *c = place; *c && c != comma; c++)
		if (*c == '/' && c[1])
			slash = c;
	if (slash)
		memmove(place, slash + 1, strlen(slash + 1) + 1);
}

void names_label_fit(struct names_label *l, size_t columns, bool utf8)
{
	size_t name = utf8_length(l->name);
	size_t place = utf8_length(l->place);

	if (name + place <= columns)
		return;
	leave_out_directories(l->place);
	place = utf8_length(l->place);
	if (name + place <= columns)
		return;
	size_t left = columns > place ? columns - place : 0;
	names_shorten(l->name, left > SHORTEST_FUNCTION ? left : SHORTEST_FUNCTION, utf8);
}

char *names_plain(const struct model_frame *f)
{
	struct model_frame alone = *f;

	alone.apart = NULL; /* for programs, which have the module elsewhere */
	char *name = plain_name(&alone);
	char *place = plain_place(&alone, "");
	char *plain = *place ? mem_format("%s (%s)", name, place) : mem_copy_string(name);

	free(name);
	free(place);
	return plain;
}
