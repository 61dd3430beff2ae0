/* json.c -- a JSON writer that streams: commas, indentation and escapes, nothing kept in memory.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>

#include "base/utf8.h"

static void put_escaped(FILE *out, uint32_t code)
{
	switch (code) {
	case '"':
		fputs("\\\"", out);
		break;
	case '\\':
		fputs("\\\\", out);
		break;
	case '\n':
		fputs("\\n", out);
		break;
	case '\t':
		fputs("\\t", out);
		break;
	default:
		fprintf(out, "\\u%04" PRIx32, code);
	}
}

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' && c != '\\';
}

/* Puts what cannot go out in a run of plain characters; returns its bytes. */
static size_t put_special(FILE *out, const char *text)
{
	uint32_t code;
	size_t bytes = utf8_decode(text, &code);

	/* JSON is printed on terminals too: what they would obey is written another way. */
	if (bytes == 1 || (bytes > 1 && code <= 0xffff && utf8_is_unsafe(code)))
		put_escaped(out, code);
	else if (bytes > 1)
		fwrite(text, 1, bytes, out);
	else
		fputs("\xef\xbf\xbd", out); /* U+FFFD */
	return bytes ? bytes : 1;
}

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		size_t run = 0;
		while (is_plain(text[run]))
			run++;
		fwrite(text, 1, run, out);
		text += run;
		if (*text)
			text += put_special(out, text);
	}
	fputc('"', out);
}

static void new_line(struct json *j)
{
	if (j->dense)
		return;
	fputc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* What stands between the last value and the next one. */
static void open_value(struct json *j, const char *key)
{
	if (j->follows)
		fputc(',', j->out);
	if (j->depth)
		new_line(j);
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
	j->follows = true;
}

static void begin(struct json *j, const char *key, char bracket)
{
	open_value(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->follows = false;
}

static void end(struct json *j, char bracket)
{
	j->depth--;
	if (j->follows)
		new_line(j);
	fputc(bracket, j->out);
	if (j->depth == 0)
		fputc('\n', j->out);
	j->follows = true; /* the container just closed is an element of the one around it */
}

void json_begin_object(struct json *j, const char *key)
{
	begin(j, key, '{');
}

void json_end_object(struct json *j)
{
	end(j, '}');
}

void json_begin_list(struct json *j, const char *key)
{
	begin(j, key, '[');
}

void json_end_list(struct json *j)
{
	end(j, ']');
}

void json_add_string(struct json *j, const char *key, const char *text)
{
	open_value(j, key);
	put_string(j->out, text);
}

void json_add_text(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_add_string(j, key, text);
	else
		json_add_null(j, key);
}

void json_add_uint(struct json *j, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	/* Exports hold millions of numbers, and printf takes most of their time. */
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	open_value(j, key);
	fwrite(digits + at, 1, sizeof(digits) - at, j->out);
}

void json_add_int(struct json *j, const char *key, int64_t value)
{
	open_value(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void json_add_bool(struct json *j, const char *key, bool value)
{
	open_value(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_add_null(struct json *j, const char *key)
{
	open_value(j, key);
	fputs("null", j->out);
}

void json_add_raw(struct json *j, const char *key, const char *json)
{
	open_value(j, key);
	fputs(json, j->out);
}

void json_add_real(struct json *j, const char *key, double value)
{
	open_value(j, key);
	fprintf(j->out, "%.6f", value);
}
