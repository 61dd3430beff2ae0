/* machinery.c -- what stands between the functions of a Python program: its import system, and the
 * interpreter's own native code. Runs: offline, called by model.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/machinery.h"

#include <ctype.h>
#include <string.h>

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool machinery_is_importer(const char *file)
{
	return starts_with(file, "<frozen importlib.") || starts_with(file, "<frozen zipimport>");
}

/* python3, python3.11, python3.11d, libpython3.11.so.1.0; not python3-foo.so. */
static bool is_interpreter(const char *module)
{
	const char *slash = strrchr(module, '/');
	const char *name = slash ? slash + 1 : module;

	if (starts_with(name, "libpython"))
		return strstr(name, ".so") != NULL;
	if (!starts_with(name, "python"))
		return false;
	for (name += strlen("python"); isdigit((unsigned char)*name) || *name == '.';)
		name++;
	return *name == '\0' || strcmp(name, "d") == 0 || strcmp(name, "-dbg") == 0;
}

/* What runs the module that `python3 -m` names. */
static bool is_runner(const char *file)
{
	static const char end[] = "/runpy.py";
	size_t length = strlen(file), tail = strlen(end);

	return starts_with(file, "<frozen runpy>") ||
	       (length > tail && strcmp(file + length - tail, end) == 0);
}

enum machinery machinery_judge(const struct model_frame *f)
{
	if (f->named == PROFILE_NAMED_PYTHON)
		return machinery_is_importer(f->file) || is_runner(f->file) ? MACHINERY_IMPORT
									    : MACHINERY_NONE;
	return !f->named && is_interpreter(f->module) ? MACHINERY_INTERPRETER : MACHINERY_NONE;
}

/* The place of the innermost function of Python, or none. */
static size_t find_python(const struct model_frame *frames, const struct model_stack *stack)
{
	size_t at = 0;

	while (at < stack->frames.count &&
	       frames[stack->frames.at[at]].named != PROFILE_NAMED_PYTHON)
		at++;
	return at;
}

static bool is_left_out(const struct model_frame *f, bool is_below)
{
	return f->machinery == MACHINERY_IMPORT ||
	       (is_below && f->machinery == MACHINERY_INTERPRETER);
}

static bool is_nameless(const struct model_frame *f)
{
	return f->machinery == MACHINERY_INTERPRETER && !*f->function;
}

/* A stack while frames are taken out of it. */
struct sieve {
	struct model_stack *stack;
	struct model_stack *origins; /* or NULL */
	size_t kept;
};

static void keep(struct sieve *s, uint32_t frame, size_t from)
{
	s->stack->frames.at[s->kept] = frame;
	if (s->origins)
		s->origins->frames.at[s->kept] = s->origins->frames.at[from];
	s->kept++;
}

static void close_up(struct sieve *s)
{
	s->stack->frames.count = s->kept;
	if (s->origins)
		s->origins->frames.count = s->kept;
}

/* A stack with functions of Python, the innermost one at `python`. */
static void sift_python(const struct model_frame *frames, struct sieve *s, size_t python)
{
	size_t count = s->stack->frames.count;

	for (size_t i = 0; i < count; i++) {
		uint32_t frame = s->stack->frames.at[i];
		const struct model_frame *f = &frames[frame];
		bool is_last = i + 1 == count && s->kept == 0;

		if (!is_last && is_left_out(f, i < python))
			continue;
		if (i < python && f->stand_in)
			frame = f->stand_in - 1;
		if (i >= python || !s->kept || s->stack->frames.at[s->kept - 1] != frame ||
		    !f->stand_in)
			keep(s, frame, i);
	}
}

static void sift_native(const struct model_frame *frames, struct sieve *s)
{
	size_t count = s->stack->frames.count;

	for (size_t i = 0; i < count; i++) {
		uint32_t frame = s->stack->frames.at[i];

		if (!is_nameless(&frames[frame]) || (i + 1 == count && s->kept == 0))
			keep(s, frame, i);
	}
}

void machinery_take_out(const struct model_frame *frames, struct model_stack *stack,
			struct model_stack *origins)
{
	struct sieve s = {.stack = stack, .origins = origins};
	size_t python = find_python(frames, stack);

	if (python < stack->frames.count)
		sift_python(frames, &s, python);
	else
		sift_native(frames, &s);
	close_up(&s);
}
