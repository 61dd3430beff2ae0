/* load.c -- a profile from its file, with symbols. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/find_profile.h"
#include "cli/message.h"
#include "model/resolve.h"

/* The time of the file stays: the newest one is the last recording, not the last one looked at. */
static void write_back(const struct profile *p, const char *file)
{
	struct error ignored = {0};
	struct stat before;

	if (stat(file, &before) || profile_write(p, file, &ignored))
		return;
	const struct timespec times[2] = {before.st_atim, before.st_mtim};
	(void)utimensat(AT_FDCWD, file, times, 0);
}

static void add_symbols(struct profile *p, const char *file, bool keep)
{
	static const struct resolve_options usual = {0};
	size_t known = p->frames.count;

	/* Modules that are gone stay addresses; the report shows them as such. */
	(void)resolve_profile(p, &usual, NULL);
	/* Never over a damaged file (a better reader may get more out of it), nor when nothing was
	 * found: on the machine where the program lives there may be more to find. */
	if (keep && !p->damaged && p->frames.count > known)
		write_back(p, file);
}

struct profile *load_profile(const char *file, const struct load_options *options)
{
	struct error e = {.offset = -1};
	char *path = file ? mem_copy_string(file) : find_profile_newest(".");

	if (!path) {
		message_print("no midden.*.mdn here; run `midden record PROGRAM` first");
		return NULL;
	}

	struct profile *p = profile_read(path, &e);
	if (!p)
		(void)message_fault(path, &e);
	else if (options->symbols && !p->resolved)
		add_symbols(p, path, options->keep);
	free(path);
	return p;
}
