/* special.c -- devices and pipes under the name of a file that is to be written.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/special.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534u /* what root is seen as in a user name space that does not have it */

bool special_is(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Only root makes devices, but terminals are their users'. */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0 ||
	       (S_ISCHR(st->st_mode) && st->st_uid == NOBODY);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* /dev/stdout may lead to a pipe that another user made: it was handed to us. */
static bool is_standard(const struct stat *st)
{
	struct stat own;

	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &own) == 0 && is_same(&own, st))
			return true;
	return false;
}

int special_open(const char *path)
{
	struct stat name, st, opened;

	if (lstat(path, &name) || stat(path, &st))
		return -1;
	if (!is_standard(&st) && !(is_trusted(&name) && is_trusted(&st))) {
		errno = EPERM;
		return -1;
	}
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || (fstat(fd, &opened) == 0 && is_same(&opened, &st)))
		return fd;
	(void)close(fd); /* changed since it was looked at */
	errno = EPERM;
	return -1;
}
