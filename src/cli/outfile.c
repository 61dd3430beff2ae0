/* outfile.c -- a file that a command writes: whole under its name, or not there at all. Runs: in
 * the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/special.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/output.h"
#include "format/wire.h"

/* ---- what is there already ------------------------------------------------------------------- */

bool outfile_is_strangers(const char *path)
{
	static const uint8_t magic[WIRE_MAGIC_BYTES] = {WIRE_MAGIC};
	char start[WIRE_MAGIC_BYTES];
	struct stat file;

	if (stat(path, &file) || !S_ISREG(file.st_mode) || file.st_size == 0)
		return false;
	FILE *f = fopen(path, "re");
	bool ours = f && fread(start, sizeof(start), 1, f) == 1 &&
		    memcmp(start, magic, sizeof(start)) == 0;
	if (f)
		(void)fclose(f);
	return !ours;
}

int outfile_check_profile(const char *path, const char *option)
{
	if (!path || !outfile_is_strangers(path))
		return COMMAND_GOOD;
	message_print("%s exists and is not a midden profile: choose another file with %s", path,
		      option);
	return COMMAND_FAILED;
}

/* ---- writing --------------------------------------------------------------------------------- */

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

static int fill_stdout(const char *what, outfile_fn write, void *context)
{
	struct error e = {.offset = -1};
	struct output o;

	output_open(&o, OUTPUT_COLOUR_NEVER, false);
	if (write(o.file, context, &e))
		return message_fault(what, &e);
	return output_close(&o);
}

static int fail_to_write(const struct error *e)
{
	message_print("cannot write %s", e->text);
	return COMMAND_FAILED;
}

int outfile_fill(const char *path, const char *what, outfile_fn write, void *context)
{
	struct error e = {.offset = -1};
	struct outfile o;

	if (!path)
		return fill_stdout(what, write, context);
	if (outfile_open(&o, path, &e))
		return fail_to_write(&e);
	if (write(o.file, context, &e)) {
		outfile_abandon(&o);
		return message_fault(what, &e);
	}
	return outfile_close(&o, &e) ? fail_to_write(&e) : COMMAND_GOOD;
}
