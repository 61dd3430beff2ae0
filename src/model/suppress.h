/* suppress.h -- leaks that are known and harmless, named by rules in LeakSanitizer's syntax.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line is `leak:PATTERN`; blank lines and those that begin with # say nothing. A pattern is
 * searched for in the function, the source file and the module of every frame: * stands for any
 * text, ^ and $ for the beginning and the end. */
#ifndef MIDDEN_MODEL_SUPPRESS_H
#define MIDDEN_MODEL_SUPPRESS_H

#include "base/error.h"
#include "model/figure.h"
#include "model/model.h"

struct suppress_rule {
	char *pattern;	  /* malloc'ed; for rules of our own NULL */
	const char *text; /* what it is called in reports */
	unsigned known;	  /* of a rule of our own: its number + 1 */
};

/* Zero-initialise. */
struct suppress_list {
	VEC(struct suppress_rule) rules;
};

/* Adds the rules that midden has itself: memory that the C and C++ libraries keep until the end. */
void suppress_add_known(struct suppress_list *l);

/* Adds the rules of a text; `name` is the file in messages. 0, or -1 with `e`, which names the
 * line. */
int suppress_parse(struct suppress_list *l, const char *text, const char *name, struct error *e);

/* The same from a file. */
int suppress_read(struct suppress_list *l, const char *path, struct error *e);

void suppress_free(struct suppress_list *l);

/* Turns the verdict FILTER_KEPT of every site that a rule names into FILTER_SUPPRESSED. Returns
 * for each site the index of the rule that names it, or UINT32_MAX; the caller frees it. */
uint32_t *suppress_judge(const struct suppress_list *l, const struct model *m, uint8_t *verdicts);

/* By site, whether a rule names it and something leaked there; the caller frees it. Never NULL. */
bool *suppress_list_sites(const struct suppress_list *l, const struct model *m);

/* What leaked at the sites of such a list; NULL: at none. */
struct amount suppress_sum(const struct profile *p, const bool *suppressed);

/* True if the pattern of a rule is in a text. */
bool suppress_has(const char *pattern, const char *text);

#endif
