/* beginning.c -- what a recording waits for before it begins: a library, a function.
 * Runs: in a collector process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/beginning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"

static const char function_key[] = "function=", library_key[] = "library=";

static const char *skip_key(const char *text, const char *key)
{
	size_t length = strlen(key);

	return strncmp(text, key, length) == 0 ? text + length : NULL;
}

int beginning_parse(struct beginning *b, const char *text, struct error *e)
{
	const char *function = skip_key(text, function_key);
	const char *library = skip_key(text, library_key);

	if (!function && !library)
		return error_set(e, "a recording starts at function=NAME or library=NAME, not '%s'",
				 text);
	struct pattern **to = function ? &b->function : &b->library;
	struct pattern *made = pattern_new(function ? function : library, e);
	if (!made)
		return -1;
	if (*to)
		pattern_free(*to);
	*to = made;
	return 0;
}

/* ---- what the collector asks ----------------------------------------------------------------- */

/* The program itself has no path in the segment. */
static bool has_library(void *context, const char *path)
{
	const struct beginning *b = context;

	return pattern_has_module(b->library, *path ? path : b->executable);
}

static bool has_name(void *context, const char *function)
{
	const struct beginning *b = context;

	return pattern_has_function(b->function, function);
}

static struct symbol_module *open_object(struct beginning *b, const char *path)
{
	static const struct symbol_options usual = {0};
	struct error ignored = {0};

	for (size_t i = 0; i < b->objects.count; i++)
		if (strcmp(b->objects.at[i].path, path) == 0)
			return b->objects.at[i].symbols;
	struct beginning_object *object = vec_push(&b->objects);
	object->path = mem_copy_string(path);
	object->symbols = symbol_open(path, NULL, 0, &usual, &ignored);
	return object->symbols;
}

static bool has_function(void *context, const char *path, uint64_t address)
{
	struct beginning *b = context;
	struct symbol_module *symbols = open_object(b, *path ? path : b->executable);
	const struct symbol_frame *frames;
	size_t count = symbols ? symbol_find(symbols, address, &frames) : 0;

	for (size_t i = 0; i < count; i++)
		if (frames[i].function && pattern_has_function(b->function, frames[i].function))
			return true;
	return false;
}

bool beginning_fill(struct beginning *b, struct collect_start *start)
{
	*start = (struct collect_start){
		.has_library = b->library ? has_library : NULL,
		.has_function = b->function ? has_function : NULL,
		.has_name = b->function ? has_name : NULL,
		.context = b,
	};
	return b->library || b->function;
}

void beginning_explain(const struct beginning *b, char *text, size_t room)
{
	if (b->function && b->library)
		(void)snprintf(text, room, "neither function %s nor library %s was seen",
			       pattern_get_text(b->function), pattern_get_text(b->library));
	else if (b->function || b->library)
		(void)snprintf(text, room, "%s %s was not seen",
			       b->function ? "function" : "library",
			       pattern_get_text(b->function ? b->function : b->library));
	else
		(void)snprintf(text, room, "the program did not call midden_start()");
}

void beginning_free(struct beginning *b)
{
	for (size_t i = 0; i < b->objects.count; i++) {
		free(b->objects.at[i].path);
		if (b->objects.at[i].symbols)
			symbol_close(b->objects.at[i].symbols);
	}
	vec_free(&b->objects);
	if (b->library)
		pattern_free(b->library);
	if (b->function)
		pattern_free(b->function);
}
