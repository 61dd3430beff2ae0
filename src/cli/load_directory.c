/* load_directory.c -- all profiles of a directory as one. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/load_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cli/message.h"
#include "model/merge.h"
#include "model/roll.h"

bool load_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int is_profile(const struct dirent *entry)
{
	return fnmatch("*.mdn", entry->d_name, 0) == 0;
}

/* ---- one after another ----------------------------------------------------------------------- */

struct part {
	struct profile *profile;
	const char *name;
};

/* What was found in a directory so far. */
struct gathering {
	const char *directory;
	struct part only; /* the first one, until there is another */
	struct merge *merge;
	struct roll roll;
	const char *unread;	 /* the first one that is no profile; NULL: all are */
	VEC(struct part) merged; /* profiles that `midden merge` made: they have to wait */
};

static void gathering_fini(struct gathering *g)
{
	profile_free(g->only.profile);
	merge_free(g->merge);
	roll_fini(&g->roll);
	for (size_t i = 0; i < g->merged.count; i++)
		profile_free(g->merged.at[i].profile);
	vec_free(&g->merged);
}

static void add(struct gathering *g, struct part part)
{
	merge_add(g->merge, part.profile, part.name);
	profile_free(part.profile);
}

/* The only one keeps its moment of the peak, which a sum has not. */
static void take(struct gathering *g, struct part part)
{
	const struct merge_options sum = {.mode = PROFILE_MERGE_SUM};

	roll_add(&g->roll, part.profile, part.name);
	if (!g->merge && !g->only.profile) {
		g->only = part;
		return;
	}
	if (!g->merge) {
		g->merge = merge_new(&sum);
		add(g, g->only);
		g->only = (struct part){0};
	}
	add(g, part);
}

static struct profile *load_one(const char *directory, const char *name,
				const struct load_options *options)
{
	char *path = mem_format("%s/%s", directory, name);
	struct profile *p = load_profile(path, options);

	free(path);
	return p;
}

/* Profiles of one recording are taken at once: they are never left out. What cannot be read costs
 * itself alone, as what is damaged does; but maps that were not recorded are missing in all. */
static int take_all(struct gathering *g, struct dirent **entries, int count,
		    const struct load_options *options)
{
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		struct part part = {load_one(g->directory, name, options), name};

		if (!part.profile && options->maps)
			return -1;
		if (!part.profile)
			g->unread = g->unread ? g->unread : name;
		else if (part.profile->inputs.count)
			*vec_push(&g->merged) = part;
		else
			take(g, part);
	}
	return 0;
}

/* The one made of most comes first: it may make others needless. */
static int compare_merged(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	size_t of_a = a->profile->inputs.count, of_b = b->profile->inputs.count;

	return of_a == of_b ? strcmp(a->name, b->name) : of_a < of_b ? 1 : -1;
}

/* A merged profile in the directory of its parts would count them again. */
static void take_merged(struct gathering *g)
{
	if (g->merged.count)
		qsort(g->merged.at, g->merged.count, sizeof(g->merged.at[0]), compare_merged);
	for (size_t i = 0; i < g->merged.count; i++) {
		struct part part = g->merged.at[i];

		g->merged.at[i].profile = NULL;
		if (!roll_has_all(&g->roll, part.profile)) {
			take(g, part);
			continue;
		}
		message_print("%s/%s is left out: the processes that it is made of are there "
			      "without it",
			      g->directory, part.name);
		profile_free(part.profile);
	}
}

static struct profile *finish(struct gathering *g)
{
	struct error e = {.offset = -1};
	struct profile *all = g->only.profile;

	g->only.profile = NULL;
	load_note_doubles(&g->roll);
	if (!g->merge)
		return all;
	all = merge_finish(g->merge, &e);
	g->merge = NULL;
	if (!all)
		(void)message_fault(g->directory, &e);
	return all;
}

/* As if it were damaged: some of what the directory should tell is not there. */
static void note_unread(const struct gathering *g, struct profile *all,
			const struct load_options *options)
{
	if (!all || !g->unread)
		return;
	if (!options->allow_damaged)
		load_note_unread();
	if (!all->damaged)
		(void)snprintf(all->damage, sizeof(all->damage), "%s could not be read", g->unread);
	all->damaged = true;
}

static struct profile *load_all(const char *directory, struct dirent **entries, int count,
				const struct load_options *options)
{
	struct gathering g = {.directory = directory};
	struct load_options one_by_one = *options;
	struct profile *all = NULL;

	one_by_one.pool = symbol_pool_new(LOAD_POOL_MODULES);
	if (take_all(&g, entries, count, &one_by_one) == 0) {
		take_merged(&g);
		all = finish(&g);
		note_unread(&g, all, options);
	}
	gathering_fini(&g);
	symbol_pool_free(one_by_one.pool);
	return all;
}

void load_note_doubles(const struct roll *r)
{
	char *text = roll_describe_doubles(r);

	if (text)
		message_print("%s", text);
	free(text);
}

struct profile *load_directory(const char *path, const struct load_options *options)
{
	struct dirent **entries = NULL;
	struct profile *p = NULL;
	int count = scandir(path, &entries, is_profile, alphasort);

	if (count < 0)
		message_print("%s: %s", path, strerror(errno));
	else if (count == 0)
		message_print("%s: there is no .mdn file in this directory", path);
	else
		p = load_all(path, entries, count, options);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return p;
}
