/* demangle.c -- linkage names for people, each worked out once.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/mem.h"

struct name {
	bool mangled;
	char text[];
};

char *demangle_name(const char *name)
{
	/* Rust first: its legacy names are valid C++ names with a hash at the end. */
	char *text = rust_demangle(name, DMGL_NO_OPTS);

	if (!text)
		text = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
	return text ? text : dlang_demangle(name, DMGL_NO_OPTS);
}

static struct name *new_name(const char *text, size_t length, bool mangled)
{
	struct name *name = mem_new(sizeof(*name) + length + 1, 1);

	memcpy(name->text, text, length);
	name->mangled = mangled;
	return name;
}

static struct name *work_out(const char *raw)
{
	char *text = demangle_name(raw);
	size_t version = strcspn(raw, "@");
	struct name *name;

	if (text)
		name = new_name(text, strlen(text), true);
	else
		name = new_name(raw, version ? version : strlen(raw), false);
	free(text);
	return name;
}

const char *demangle_find(struct notes *names, const char *raw, bool *mangled)
{
	void **place = notes_get(names, raw);

	if (!*place)
		*place = work_out(raw);
	const struct name *name = *place;
	*mangled = name->mangled;
	return name->text;
}
