/* config.c -- files that say how to record. Runs: in the midden command, pure but for config_read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1U << 20) /* more is no configuration */

/* A part of the text, which has no end of its own. */
struct span {
	const char *at;
	size_t bytes;
};

struct place {
	const char *file;
	unsigned line;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s)
{
	while (s.bytes && is_blank(s.at[0])) {
		s.at++;
		s.bytes--;
	}
	while (s.bytes && is_blank(s.at[s.bytes - 1]))
		s.bytes--;
	return s;
}

static bool is_name(struct span s)
{
	for (size_t i = 0; i < s.bytes; i++) {
		char c = s.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.'))
			return false;
	}
	return s.bytes > 0;
}

static char *copy(struct span s)
{
	return mem_format("%.*s", (int)s.bytes, s.at);
}

static int fail(const struct place *p, const char *what, struct error *e)
{
	return error_set(e, "%s:%u: %s", p->file, p->line, what);
}

/* Nothing follows but a comment. */
static bool ends_here(struct span rest)
{
	rest = trim(rest);
	return rest.bytes == 0 || rest.at[0] == '#';
}

/* ---- sections -------------------------------------------------------------------------------- */

/* "[record]" begins what holds always, "[profile.NAME]" what holds if it is asked for. */
static int take_section(struct span s, const struct place *p, char **profile, struct error *e)
{
	static const char record[] = "record", prefix[] = "profile.";
	const size_t length = sizeof(prefix) - 1;

	const char *end = memchr(s.at, ']', s.bytes);
	if (!end)
		return fail(p, "the section's name has no ]", e);
	struct span name = trim((struct span){s.at + 1, (size_t)(end - s.at) - 1});
	struct span rest = {end + 1, s.bytes - (size_t)(end + 1 - s.at)};
	free(*profile);
	*profile = NULL;
	if (!ends_here(rest))
		return fail(p, "behind a section's ] there can only be a comment", e);
	if (name.bytes == sizeof(record) - 1 && memcmp(name.at, record, name.bytes) == 0) {
		*profile = mem_copy_string("");
		return 0;
	}
	if (name.bytes <= length || memcmp(name.at, prefix, length) != 0 ||
	    !is_name((struct span){name.at + length, name.bytes - length}))
		return fail(p, "a section is [record] or [profile.NAME]", e);
	*profile = copy((struct span){name.at + length, name.bytes - length});
	return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A quoted text: \" and \\ stand for themselves. NULL: it does not end. */
static char *take_quoted(struct span s)
{
	char *value = mem_new(s.bytes + 1, 1);
	size_t length = 0, i = 1;

	for (; i < s.bytes && s.at[i] != '"'; i++) {
		if (s.at[i] == '\\' && i + 1 < s.bytes && strchr("\"\\", s.at[i + 1]))
			i++;
		value[length++] = s.at[i];
	}
	if (i < s.bytes && ends_here((struct span){s.at + i + 1, s.bytes - i - 1}))
		return value;
	free(value);
	return NULL;
}

/* Up to a # behind a blank. */
static char *take_bare(struct span s)
{
	size_t end = 0;

	while (end < s.bytes && !(s.at[end] == '#' && (end == 0 || is_blank(s.at[end - 1]))))
		end++;
	return copy(trim((struct span){s.at, end}));
}

static int take_pair(struct config *c, struct span line, const struct place *p, const char *profile,
		     struct error *e)
{
	const char *equals = memchr(line.at, '=', line.bytes);

	if (!equals)
		return fail(p, "a line is KEY = VALUE", e);
	struct span key = trim((struct span){line.at, (size_t)(equals - line.at)});
	struct span rest =
		trim((struct span){equals + 1, line.bytes - (size_t)(equals - line.at) - 1});
	if (!is_name(key))
		return fail(p, "a key is made of letters, digits and -", e);
	if (!profile)
		return fail(p, "begin a section first: [record] or [profile.NAME]", e);
	char *value = rest.bytes && rest.at[0] == '"' ? take_quoted(rest) : take_bare(rest);
	if (!value)
		return fail(p,
			    "what is between \" and \" must end in its line, with nothing behind",
			    e);
	*vec_push(&c->entries) = (struct config_entry){
		.profile = mem_copy_string(profile),
		.key = copy(key),
		.value = value,
		.origin = mem_format("%s:%u", p->file, p->line),
	};
	return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int take_line(struct config *c, struct span line, const struct place *p, char **profile,
		     struct error *e)
{
	line = trim(line);
	if (line.bytes == 0 || line.at[0] == '#' || line.at[0] == ';')
		return 0;
	if (memchr(line.at, 0, line.bytes))
		return fail(p, "this is not text", e);
	if (line.at[0] == '[')
		return take_section(line, p, profile, e);
	return take_pair(c, line, p, *profile, e);
}

int config_parse(struct config *c, const char *text, size_t bytes, const char *file,
		 struct error *e)
{
	struct place p = {.file = file};
	char *profile = NULL;
	int result = 0;

	while (bytes && result == 0) {
		const char *newline = memchr(text, '\n', bytes);
		size_t length = newline ? (size_t)(newline - text) : bytes;
		size_t step = newline ? length + 1 : length;

		p.line++;
		result = take_line(c, (struct span){text, length}, &p, &profile, e);
		text += step;
		bytes -= step;
	}
	free(profile);
	return result;
}

int config_read(struct config *c, const char *path, struct error *e)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return error_set_errno(e, "%s", path);
	char *text = mem_new(FILE_BYTES_MAX + 1, 1);
	size_t bytes = fread(text, 1, FILE_BYTES_MAX + 1, f);
	int result = ferror(f) ? error_set_errno(e, "%s", path)
		     : bytes > FILE_BYTES_MAX
			     ? error_set(e, "%s: too large for a configuration", path)
			     : config_parse(c, text, bytes, path, e);
	free(text);
	(void)fclose(f);
	return result;
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < c->entries.count; i++) {
		free(c->entries.at[i].profile);
		free(c->entries.at[i].key);
		free(c->entries.at[i].value);
		free(c->entries.at[i].origin);
	}
	vec_free(&c->entries);
}
