/* shorten.c -- C++ names as their authors wrote them.
 * Runs: offline, any thread; called while a model is built.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the name copies it to the output and follows its brackets. When a list of template
 * arguments closes, they are in the output, shortened themselves; what is the default is cut off
 * there. Where the brackets do not add up the name is not C++, or not understood, and stays. */
#include "symbol/shorten.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "symbol/shorten_rules.h"

#define NAME_MAX_BYTES 65536u /* longer ones are shown in part anyway */
#define DEPTH_MAX      128u   /* brackets in brackets: real names stay below 40 */
#define ARGUMENTS_MOST 8u     /* no template with defaults that are known has more */

/* What was read last: it tells what a "<" is. */
enum last {
	LAST_OTHER,  /* "<" begins a group: Rust's <Type as Trait> */
	LAST_WORD,   /* "<" begins template arguments */
	LAST_COLONS, /* the same: Rust's name::<Type> */
	LAST_CLOSE,  /* "<" compares: (a)<(b) */
};

struct shortener {
	const char *in;
	VEC(char) out;
	size_t name; /* where the qualified name that is being read starts in `out` */
	enum last last;
	unsigned depth;
	bool failed;
};

static void read_until(struct shortener *s, const char *stops);

static void put(struct shortener *s, const char *text, size_t bytes)
{
	vec_reserve(&s->out, bytes + 1);
	memcpy(s->out.at + s->out.count, text, bytes);
	s->out.count += bytes;
}

/* Copies from the input. */
static void copy(struct shortener *s, size_t bytes)
{
	put(s, s->in, bytes);
	s->in += bytes;
}

static struct piece get_piece(const struct shortener *s, size_t start)
{
	return (struct piece){s->out.at + start, s->out.count - start};
}

/* The sets are of one or two characters. */
static bool is_in(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	/* A bit for each: $ and digits; letters, _ and ~. */
	static const uint64_t ascii[] = {0x03ff001000000000u, 0x47fffffe87fffffeu};
	unsigned char byte = (unsigned char)c;

	return byte & 0x80 || (ascii[byte / 64] >> byte % 64 & 1);
}

static size_t word_length(const char *text)
{
	size_t bytes = 0;

	while (is_word(text[bytes]))
		bytes++;
	return bytes;
}

/* The symbol behind the word "operator"; 0 if there is none (operator new, conversions). A space
 * before template arguments belongs to it: operator< <int>. */
static size_t operator_length(const char *text)
{
	static const char *const with_brackets[] = {"()", "[]", "->*", "->", "<=>", "<<=", ">>=",
						    "<<", ">>", "<=",  ">=", "<",   ">",   ","};
	size_t bytes = strspn(text, "+-*/%^&|~!=");

	for (size_t i = 0; i < sizeof(with_brackets) / sizeof(with_brackets[0]); i++)
		if (strncmp(text, with_brackets[i], strlen(with_brackets[i])) == 0) {
			bytes = strlen(with_brackets[i]);
			break;
		}
	if (bytes && text[bytes] == ' ' && text[bytes + 1] == '<')
		bytes++;
	return bytes;
}

static bool is_inline_namespace(const struct shortener *s, size_t bytes)
{
	struct piece word = {s->in, bytes};

	return s->last == LAST_COLONS && strncmp(s->in + bytes, "::", 2) == 0 &&
	       shorten_rules_is_inline(get_piece(s, s->name), word);
}

static void read_word(struct shortener *s)
{
	size_t bytes = word_length(s->in);
	bool is_operator = bytes == 8 && strncmp(s->in, "operator", 8) == 0;

	if (is_inline_namespace(s, bytes)) {
		s->in += bytes + 2;
		return;
	}
	if (s->last != LAST_COLONS)
		s->name = s->out.count;
	copy(s, bytes);
	if (is_operator)
		copy(s, operator_length(s->in));
	s->last = LAST_WORD;
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* Reads what is in brackets, up to the one that closes them; the caller deals with that one. */
static void read_inside(struct shortener *s, const char *stops)
{
	size_t name = s->name;

	if (s->depth == DEPTH_MAX) {
		s->failed = true;
		return;
	}
	s->depth++;
	s->last = LAST_OTHER;
	read_until(s, stops);
	s->depth--;
	s->name = name;
	if (!*s->in)
		s->failed = true;
}

static void read_brackets(struct shortener *s, const char *close)
{
	/* "(anonymous namespace)::" and "{lambda()#1}::" begin or continue a name. */
	if (s->last != LAST_COLONS && s->last != LAST_WORD)
		s->name = s->out.count;
	copy(s, 1);
	read_inside(s, close);
	if (s->failed)
		return;
	copy(s, 1);
	s->last = *close == '}' ? LAST_WORD : LAST_CLOSE;
}

static void trim(struct shortener *s, size_t start)
{
	while (s->out.count > start && s->out.at[s->out.count - 1] == ' ')
		s->out.count--;
}

struct arguments {
	size_t list; /* where the "<" is in `out` */
	size_t start[ARGUMENTS_MOST];
	size_t end[ARGUMENTS_MOST];
	size_t count; /* may be more than there are places */
};

static void read_arguments(struct shortener *s, struct arguments *a)
{
	a->list = s->out.count;
	a->count = 0;
	do {
		if (a->count)
			put(s, ", ", 2);
		else
			put(s, "<", 1);
		s->in++;
		while (*s->in == ' ')
			s->in++;
		size_t start = s->out.count;
		read_inside(s, ",>");
		trim(s, start);
		if (a->count < ARGUMENTS_MOST) {
			a->start[a->count] = start;
			a->end[a->count] = s->out.count;
		}
		a->count++;
	} while (!s->failed && *s->in == ',');
}

static void replace(struct shortener *s, size_t start, const char *text)
{
	s->out.count = start;
	put(s, text, strlen(text));
}

/* container::iterator in place of __normal_iterator<pointer, container>. */
static void put_iterator(struct shortener *s, struct piece container, const char *kind)
{
	size_t bytes = container.bytes;

	memmove(s->out.at + s->name, container.at, bytes);
	s->out.count = s->name + bytes;
	put(s, "::", 2);
	put(s, kind, strlen(kind));
}

/* The list is in the output, without its ">". */
static void simplify(struct shortener *s, const struct arguments *a)
{
	struct piece name = {s->out.at + s->name, a->list - s->name};
	struct piece pieces[ARGUMENTS_MOST];
	size_t count = a->count <= ARGUMENTS_MOST ? a->count : 0;

	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct piece){s->out.at + a->start[i], a->end[i] - a->start[i]};
	const char *kind = shorten_rules_find_iterator(name, pieces, count);
	if (kind) {
		put_iterator(s, pieces[1], kind);
		return;
	}
	size_t kept = shorten_rules_count_arguments(name, pieces, count);
	if (kept < count)
		s->out.count = a->end[kept - 1];
	put(s, ">", 1);
	const char *alias = shorten_rules_find_alias(get_piece(s, s->name));
	if (alias)
		replace(s, s->name, alias);
}

static void read_template(struct shortener *s)
{
	struct arguments a;

	read_arguments(s, &a);
	if (s->failed)
		return;
	s->in++;
	simplify(s, &a);
	s->last = LAST_WORD;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* An ABI tag, f[abi:cxx11](), is left out. */
static void read_square(struct shortener *s)
{
	static const char tag[] = "[abi:";
	const char *end = strchr(s->in, ']');

	if (end && strncmp(s->in, tag, sizeof(tag) - 1) == 0)
		s->in = end + 1;
	else
		read_brackets(s, "]");
}

static void read_less(struct shortener *s)
{
	if (s->last == LAST_WORD || s->last == LAST_COLONS)
		read_template(s);
	else if (s->last == LAST_CLOSE)
		copy(s, 1);
	else
		read_brackets(s, ">");
}

static void read_other(struct shortener *s)
{
	if (strncmp(s->in, "::", 2) == 0) {
		if (s->last == LAST_OTHER)
			s->name = s->out.count;
		copy(s, 2);
		s->last = LAST_COLONS;
		return;
	}
	copy(s, strncmp(s->in, "->", 2) == 0 ? 2 : 1);
	s->last = LAST_OTHER;
}

static void read_until(struct shortener *s, const char *stops)
{
	while (*s->in && !s->failed && !is_in(*s->in, stops)) {
		if (is_word(*s->in))
			read_word(s);
		else if (*s->in == '<')
			read_less(s);
		else if (*s->in == '(')
			read_brackets(s, ")");
		else if (*s->in == '{')
			read_brackets(s, "}");
		else if (*s->in == '[')
			read_square(s);
		else
			read_other(s);
	}
}

char *shorten_name(const char *full)
{
	struct shortener s = {.in = full};
	size_t bytes = strlen(full);

	if (!strstr(full, "::") || bytes > NAME_MAX_BYTES)
		return NULL;
	read_until(&s, "");
	/* A name that is made of what is left out stays as it is. */
	if (s.failed || s.out.count == 0 || s.out.count >= bytes) {
		vec_free(&s.out);
		return NULL;
	}
	s.out.at[s.out.count] = '\0';
	return s.out.at;
}
