/* choice.c -- which processes of a tree are recorded. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/choice.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/procfs.h"

bool choice_is_narrow(const struct choice *c)
{
	return c->only || c->children_only || c->ranks.ranges.count;
}

bool choice_has_name(const struct choice *c, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *list = mem_copy_string(c->only);
	char *rest = list;
	bool found = false;

	for (const char *word; !found && (word = strsep(&rest, ","));)
		found = fnmatch(word, name, 0) == 0 || (slash && fnmatch(word, slash + 1, 0) == 0);
	free(list);
	return found;
}

/* By its file, or by the name that it was started with. */
static bool has_program(const struct choice *c, pid_t pid)
{
	char *file = procfs_read_link(pid, "exe");
	char *name = procfs_read_program(pid);
	bool found = choice_has_name(c, file) || choice_has_name(c, name);

	free(file);
	free(name);
	return found;
}

bool choice_has(const struct choice *c, pid_t pid, bool is_program)
{
	if (c->children_only && is_program)
		return false;
	if (c->ranks.ranges.count && !rank_list_has(&c->ranks, rank_read(pid).number))
		return false;
	return !c->only || has_program(c, pid);
}
