/* demangle.c -- linkage names for people, each worked out once.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/mem.h"
#include "base/vec.h"

struct name {
	bool mangled;
	char text[];
};

/* A few hundred bytes of substitutions that refer to each other stand for more text than there is
 * memory. Names that people gave are far below. */
#define TEXT_MOST (64u << 10)
/* The demangler of D cannot be stopped: it gets no name longer than this, or that may stand for so
 * much text. */
#define D_BYTES_MOST 1024u
#define D_TEXT_MOST  (1u << 20)

struct text {
	VEC(char) letters;
	jmp_buf too_long;
};

/* libiberty keeps what it needs on the stack, so it can be left from here. */
static void add_piece(const char *piece, size_t bytes, void *context)
{
	struct text *t = context;

	if (bytes > TEXT_MOST - t->letters.count)
		longjmp(t->too_long, 1);
	vec_reserve(&t->letters, bytes + 1);
	memcpy(t->letters.at + t->letters.count, piece, bytes);
	t->letters.count += bytes;
	t->letters.at[t->letters.count] = '\0';
}

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *context);

/* False if it is not that kind of name, or too long. `t` belongs to the caller, since what is
 * local here is lost by a jump. */
static bool demangle_with(demangler *demangle, const char *name, int options, struct text *t)
{
	t->letters.count = 0;
	return setjmp(t->too_long) == 0 && demangle(name, options, add_piece, t) &&
	       t->letters.count;
}

static bool starts_with(const char *name, const char *mark)
{
	return strncmp(name, mark, strlen(mark)) == 0;
}

/* The number of letters between a reference, of which this is what follows its Q, and what it
 * refers to; 0 if it is none. */
static size_t get_distance(const char *digits)
{
	size_t distance = 0;

	for (; *digits >= 'A' && *digits <= 'Z' && distance < D_BYTES_MOST; digits++)
		distance = distance * 26 + (size_t)(*digits - 'A');
	if (*digits < 'a' || *digits > 'z')
		return 0;
	return distance * 26 + (size_t)(*digits - 'a');
}

/* At most all that lies between a reference and its target is written again; where that is an
 * identifier, its letters alone. */
static bool is_modest(const char *name)
{
	uint64_t before[D_BYTES_MOST + 1] = {0}; /* text that the letters up to one stand for */
	size_t i;

	for (i = 0; i < D_BYTES_MOST && name[i] && before[i] < D_TEXT_MOST; i++) {
		size_t distance = name[i] == 'Q' ? get_distance(name + i + 1) : 0;
		uint64_t more = 1;

		if (distance && distance <= i) {
			const char *target = name + i - distance;

			more = *target >= '0' && *target <= '9' ? D_BYTES_MOST
								: before[i] - before[i - distance];
		}
		before[i + 1] = before[i] + more;
	}
	return !name[i];
}

char *demangle_name(const char *name)
{
	struct text t = {0};

	if (starts_with(name, "_D"))
		return is_modest(name) ? dlang_demangle(name, DMGL_NO_OPTS) : NULL;
	/* Rust first: its legacy names are valid C++ names with a hash at the end. */
	if (demangle_with(rust_demangle_callback, name, DMGL_NO_OPTS, &t) ||
	    demangle_with(cplus_demangle_v3_callback, name, DMGL_PARAMS | DMGL_ANSI, &t))
		return t.letters.at;
	vec_free(&t.letters);
	return NULL;
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
