/* outfile.c -- a file that a command writes: whole under its name, or not there at all. Runs: in
 * the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Renaming over /dev/null would replace it for everyone. */
static bool is_stream(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int outfile_open(struct outfile *o, const char *path, struct error *e)
{
	int flags = O_WRONLY | O_CLOEXEC;
	struct stat st;

	*o = (struct outfile){.path = path};
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return error_set_errno(e, "%s", path);
	}
	if (!is_stream(path)) {
		o->temporary = mem_format("%s.partial-%ld", path, (long)getpid());
		flags |= O_CREAT | O_EXCL | O_NOFOLLOW;
	}
	int fd = open(o->temporary ? o->temporary : path, flags, 0666);
	o->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->file)
		return 0;
	error_set_errno(e, "%s", path);
	if (fd >= 0)
		close(fd);
	free(o->temporary);
	return -1;
}

int outfile_close(struct outfile *o, struct error *e)
{
	errno = 0;
	bool good = fflush(o->file) == 0 && !ferror(o->file);

	if (!good && errno == 0)
		errno = EIO; /* an earlier write failed, and why is no longer known */
	if (!good)
		error_set_errno(e, "%s", o->path);
	if (fclose(o->file) && good) {
		error_set_errno(e, "%s", o->path);
		good = false;
	}
	if (good && o->temporary && rename(o->temporary, o->path)) {
		error_set_errno(e, "%s", o->path);
		good = false;
	}
	if (!good && o->temporary)
		(void)unlink(o->temporary);
	free(o->temporary);
	return good ? 0 : -1;
}

void outfile_abandon(struct outfile *o)
{
	(void)fclose(o->file);
	if (o->temporary)
		(void)unlink(o->temporary);
	free(o->temporary);
}
