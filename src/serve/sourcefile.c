/* sourcefile.c -- source files that a profile names, read with care. Runs: offline; called by the
 * server and by `midden html`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve/sourcefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"

#define MOST_BYTES (16u << 20)

static const char *const endings[] = {
	"c",  "h",   "i",   "cc",  "cp",  "cpp", "cxx", "c++",	 "hh",	"hpp", "hxx", "h++",
	"ii", "inc", "inl", "ipp", "tcc", "tpp", "cu",	"cuh",	 "m",	"mm",  "s",   "asm",
	"rs", "d",   "di",  "f",   "for", "ftn", "f77", "f90",	 "f95", "f03", "f08", "f18",
	"py", "pyx", "pxd", "pyi", "go",  "zig", "nim", "swift", "ada", "adb", "ads", "pas",
	"y",  "l",   "def", "gen", "cr",  "hs",	 "ml",	"mli",	 "jl",	NULL,
};

static bool is_source_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (!dot || strchr(dot, '/'))
		return strstr(path, "/include/c++/") != NULL; /* <vector> has no ending */
	for (size_t i = 0; endings[i]; i++)
		if (strcasecmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

static char *read_all(int fd, size_t *bytes)
{
	char *text = mem_new(*bytes + 1, 1);
	size_t used = 0;

	while (used < *bytes) {
		ssize_t got = read(fd, text + used, *bytes - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	*bytes = used;
	text[used] = '\0';
	return text;
}

enum sourcefile_result sourcefile_read(const char *path, char **text, size_t *bytes)
{
	struct stat st;

	if (path[0] != '/' || !is_source_name(path))
		return SOURCEFILE_MISSING;
	/* Opening a device or a pipe could wait, or do something. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? SOURCEFILE_REFUSED : SOURCEFILE_MISSING;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MOST_BYTES) {
		close(fd);
		return SOURCEFILE_MISSING;
	}
	*bytes = (size_t)st.st_size;
	*text = read_all(fd, bytes);
	close(fd);
	return SOURCEFILE_READ;
}

/* ---- lines for a page without a server ------------------------------------------------------- */

struct line_ref {
	const char *file;
	uint32_t line;
};

static int compare_refs(const void *a, const void *b)
{
	const struct line_ref *x = a;
	const struct line_ref *y = b;
	int files = strcmp(x->file, y->file);

	return files ? files : (x->line > y->line) - (x->line < y->line);
}

/* Adds a line without its end; returns the start of the next, NULL after the last. */
static const char *add_line(struct json *j, const char *at)
{
	const char *end = strchr(at, '\n');
	char *line = end ? strndup(at, (size_t)(end - at)) : strdup(at);

	if (line)
		json_add_string(j, NULL, line);
	free(line);
	return end ? end + 1 : NULL;
}

/* Runs of lines: those of `refs`, which are ascending, with `around` on either side. */
static void add_runs(struct json *j, const char *text, const struct line_ref *refs, size_t count,
		     unsigned around)
{
	const char *at = text;
	uint32_t number = 1;
	bool open = false;

	for (size_t i = 0; at && i < count; number++) {
		uint64_t wanted = refs[i].line;

		if (number + (uint64_t)around >= wanted && number <= wanted + around) {
			if (!open) {
				json_begin_list(j, NULL);
				json_add_uint(j, NULL, number);
				open = true;
			}
			at = add_line(j, at);
		} else {
			at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
		}
		while (i < count && refs[i].line + (uint64_t)around <= number)
			i++;
		if (open && (i == count || refs[i].line > (uint64_t)number + 1 + around)) {
			json_end_list(j);
			open = false;
		}
	}
	if (open)
		json_end_list(j);
}

static void add_file(struct json *j, const struct line_ref *refs, size_t count, unsigned around)
{
	size_t bytes;
	char *text;

	if (sourcefile_read(refs[0].file, &text, &bytes) != SOURCEFILE_READ)
		return;
	json_begin_list(j, refs[0].file);
	add_runs(j, text, refs, count, around);
	json_end_list(j);
	free(text);
}

char *sourcefile_gather(const struct model *m, unsigned around)
{
	VEC(struct line_ref) refs = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct json j = {.out = out};

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < model_get_frame_count(m); i++) {
		const struct model_frame *f = model_get_frame(m, i);

		if (*f->file && f->line)
			*vec_push(&refs) = (struct line_ref){f->file, f->line};
	}
	if (refs.count)
		qsort(refs.at, refs.count, sizeof(*refs.at), compare_refs);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "files");
	j.dense = true;
	for (size_t i = 0, next; i < refs.count; i = next) {
		for (next = i + 1; next < refs.count; next++)
			if (strcmp(refs.at[next].file, refs.at[i].file) != 0)
				break;
		add_file(&j, &refs.at[i], next - i, around);
	}
	json_end_object(&j);
	json_end_object(&j);
	fclose(out);
	vec_free(&refs);
	return text;
}
