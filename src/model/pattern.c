/* pattern.c -- what users write to name functions, modules and threads. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/pattern.h"

#include <fnmatch.h>
#include <regex.h>
#include <string.h>

struct pattern {
	char *text;
	bool is_regex;
	regex_t regex;
};

static bool is_between_slashes(const char *text)
{
	size_t length = strlen(text);

	return length > 2 && text[0] == '/' && text[length - 1] == '/';
}

/* An absolute path that ends in a slash names no module and no function. */
static int compile(struct pattern *p, struct error *e)
{
	char *inner = mem_format("%.*s", (int)strlen(p->text) - 2, p->text + 1);
	int fault = regcomp(&p->regex, inner, REG_EXTENDED | REG_NOSUB);
	char reason[200];

	free(inner);
	if (fault == 0)
		return 0;
	(void)regerror(fault, &p->regex, reason, sizeof(reason));
	return error_set(e, "%s: %s", p->text, reason);
}

struct pattern *pattern_new(const char *text, struct error *e)
{
	if (!*text) {
		(void)error_set(e, "an empty pattern names nothing");
		return NULL;
	}
	struct pattern *p = mem_new(1, sizeof(*p));
	p->text = mem_copy_string(text);
	if (!is_between_slashes(text))
		return p;
	if (compile(p, e) == 0) {
		p->is_regex = true;
		return p;
	}
	pattern_free(p);
	return NULL;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	if (p->is_regex)
		regfree(&p->regex);
	free(p->text);
	free(p);
}

const char *pattern_get_text(const struct pattern *p)
{
	return p->text;
}

bool pattern_has(const struct pattern *p, const char *name)
{
	return p->is_regex ? regexec(&p->regex, name, 0, NULL, 0) == 0
			   : fnmatch(p->text, name, 0) == 0;
}

static bool is_opening(char c)
{
	return c == '(' || c == '<' || c == '{' || c == '[';
}

static bool is_closing(char c)
{
	return c == ')' || c == '>' || c == '}' || c == ']';
}

/* Where the bracket that ends at the end of `name` begins; its length if there is none. */
static size_t find_opening(const char *name)
{
	size_t i = strlen(name);
	unsigned depth = 0;

	while (i-- > 0) {
		depth += is_closing(name[i]);
		if (is_opening(name[i]) && --depth == 0)
			return i;
		if (depth == 0)
			break;
	}
	return strlen(name);
}

/* Cuts off what follows the parameters (const, a clone's mark) and the parameters. */
static void drop_parameters(char *name)
{
	char *close = strrchr(name, ')');

	if (!close)
		return;
	char saved = close[1];
	close[1] = '\0';
	size_t open = find_opening(name);
	/* "operator()" and "(anonymous namespace)" are names. */
	if (open == 0 || open == strlen(name) ||
	    (open >= 8 && strncmp(name + open - 8, "operator", 8) == 0 && close == name + open + 1))
		close[1] = saved;
	else
		name[open] = '\0';
}

/* What follows the last "::", or the return type, outside of all brackets. */
static const char *last_part(const char *name)
{
	const char *part = name;
	int depth = 0;

	if (strstr(name, "operator"))
		return name;
	for (const char *c = name; *c; c++) {
		depth += is_opening(*c) - is_closing(*c);
		if (depth == 0 && c[0] == ':' && c[1] == ':')
			part = c + 2;
		else if (depth == 0 && *c == ' ' && c[1])
			part = c + 1;
	}
	return part;
}

bool pattern_has_function(const struct pattern *p, const char *function)
{
	if (pattern_has(p, function) || p->is_regex)
		return pattern_has(p, function);
	char *name = mem_copy_string(function);
	drop_parameters(name);
	const char *part = last_part(name);
	bool found = pattern_has(p, name) || pattern_has(p, part);
	size_t length = strlen(part);
	if (!found && length && part[length - 1] == '>') {
		name[(size_t)(part - name) + find_opening(part)] = '\0';
		found = pattern_has(p, name) || pattern_has(p, part);
	}
	free(name);
	return found;
}

bool pattern_has_module(const struct pattern *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *suffix = strstr(name, ".so");

	if (pattern_has(p, path) || pattern_has(p, name))
		return true;
	if (!suffix || p->is_regex)
		return false;
	char *stem = mem_format("%.*s", (int)(suffix - name), name);
	bool found = pattern_has(p, stem);
	free(stem);
	return found;
}

int pattern_add(struct pattern_list *list, const char *text, struct error *e)
{
	struct pattern *p = pattern_new(text, e);

	if (!p)
		return -1;
	*vec_push(&list->all) = p;
	return 0;
}

void pattern_free_list(struct pattern_list *list)
{
	for (size_t i = 0; i < list->all.count; i++)
		pattern_free(list->all.at[i]);
	vec_free(&list->all);
}
