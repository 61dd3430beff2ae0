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

enum machinery machinery_judge(const struct model_frame *f)
{
	if (f->named == PROFILE_NAMED_PYTHON)
		return machinery_is_importer(f->file) ? MACHINERY_IMPORT : MACHINERY_NONE;
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

void machinery_take_out(const struct model_frame *frames, struct model_stack *stack,
			struct model_stack *origins)
{
	size_t count = stack->frames.count, python = find_python(frames, stack), kept = 0;

	if (python == count)
		return; /* no program of Python */
	for (size_t i = 0; i < count; i++) {
		bool is_last = i + 1 == count && kept == 0;
		if (!is_last && is_left_out(&frames[stack->frames.at[i]], i < python))
			continue;
		stack->frames.at[kept] = stack->frames.at[i];
		if (origins)
			origins->frames.at[kept] = origins->frames.at[i];
		kept++;
	}
	stack->frames.count = kept;
	if (origins)
		origins->frames.count = kept;
}
