/* pathmap.c -- where sources are now, for paths as the compiler saw them.
 * Runs: offline; called while a model is built, and by cli for its options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/pathmap.h"

#include <string.h>

/* A copy of the first `bytes` without slashes at its end. */
static char *copy_directory(const char *text, size_t bytes)
{
	while (bytes && text[bytes - 1] == '/')
		bytes--;
	return mem_format("%.*s", (int)bytes, text);
}

int pathmap_add(struct pathmap *m, const char *rule, struct error *e)
{
	const char *equals = strchr(rule, '=');

	if (!equals || equals == rule)
		return error_set(e, "%s is not OLD=NEW", rule);
	*vec_push(&m->rules) = (struct pathmap_rule){
		.from = copy_directory(rule, (size_t)(equals - rule)),
		.to = copy_directory(equals + 1, strlen(equals + 1)),
	};
	return 0;
}

/* What of the path is below the rule's directory, with the slash before it; NULL if it is not. */
static const char *find_rest(const struct pathmap_rule *rule, const char *path)
{
	size_t bytes = strlen(rule->from);

	if (strncmp(path, rule->from, bytes) != 0 || (path[bytes] && path[bytes] != '/'))
		return NULL;
	return *path ? path + bytes : NULL;
}

char *pathmap_apply(const struct pathmap *m, const char *path)
{
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct pathmap_rule *rule = &m->rules.at[i];
		const char *rest = find_rest(rule, path);

		/* --map /build= makes paths relative. */
		if (rest && !*rule->to && *rest == '/')
			rest++;
		if (rest)
			return mem_format("%s%s", rule->to, rest);
	}
	return NULL;
}

void pathmap_free(struct pathmap *m)
{
	for (size_t i = 0; i < m->rules.count; i++) {
		free(m->rules.at[i].from);
		free(m->rules.at[i].to);
	}
	vec_free(&m->rules);
}
