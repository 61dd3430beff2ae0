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
#include "base/special.h"

int outfile_open(struct outfile *o, const char *path, struct error *e)
{
	struct stat st;

	*o = (struct outfile){.path = path};
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return error_set_errno(e, "%s", path);
	}
	if (!special_is(path))
		o->temporary = mem_format("%s.partial-%ld", path, (long)getpid());
	int fd = o->temporary ? open(o->temporary,
				     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)
			      : special_open(path);
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
