/* requests.c -- whether a process that has requests under way (io_uring, aio) can be forked.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/requests.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/vec.h"

#define PINNED_MAJOR	 6L
#define PINNED_MINOR	 5L
#define DESCRIPTORS_MOST 1024u /* 5 us each, in which the program may be stopped */
#define AT_ONCE		 4096u
#define TEXT_MOST	 (1u << 20) /* of a descriptor: a ring tells of all that waits in it */

bool requests_are_pinned_by(const char *release)
{
	char *end;
	long major = strtol(release, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return major > PINNED_MAJOR || (major == PINNED_MAJOR && minor >= PINNED_MINOR);
}

/* ---- what is mounted ------------------------------------------------------------------------- */

/* Those on block devices, and those whose reads are nothing but copies of the kernel's memory. */
static const char *const pinning[] = {
	"autofs",    "bcachefs", "binfmt_misc", "bpf",	    "btrfs",	"cgroup",     "cgroup2",
	"configfs",  "debugfs",	 "devpts",	"devtmpfs", "efivarfs", "erofs",      "exfat",
	"ext2",	     "ext3",	 "ext4",	"f2fs",	    "fusectl",	"gfs2",	      "hugetlbfs",
	"iso9660",   "jfs",	 "mqueue",	"nfsd",	    "nilfs2",	"nsfs",	      "ntfs3",
	"ocfs2",     "proc",	 "pstore",	"ramfs",    "rootfs",	"rpc_pipefs", "securityfs",
	"selinuxfs", "squashfs", "sysfs",	"tmpfs",    "tracefs",	"udf",	      "vfat",
	"xfs",
};

static bool is_type(const char *found, size_t bytes, const char *type)
{
	return strlen(type) == bytes && memcmp(found, type, bytes) == 0;
}

enum requests_mount requests_judge_mount(const char *line)
{
	const char *found = strstr(line, " - "); /* paths have no spaces there */

	if (!found)
		return REQUESTS_UNSAFE;
	found += 3;
	size_t bytes = strcspn(found, " \n");
	for (size_t i = 0; i < sizeof(pinning) / sizeof(pinning[0]); i++)
		if (is_type(found, bytes, pinning[i]))
			return REQUESTS_PIN;
	/* Desktops and containers have these without anybody's reading from them directly. */
	if (is_type(found, bytes, "overlay") || is_type(found, strcspn(found, " .\n"), "fuse"))
		return REQUESTS_DOUBTED;
	return REQUESTS_UNSAFE;
}

struct mounts {
	bool has_unsafe;
	bool has_doubted;
	VEC(int) pinning; /* their numbers */
};

static void take_mount(struct mounts *m, const char *line)
{
	enum requests_mount kind = requests_judge_mount(line);

	m->has_unsafe |= kind == REQUESTS_UNSAFE;
	m->has_doubted |= kind == REQUESTS_DOUBTED;
	if (kind == REQUESTS_PIN)
		*vec_push(&m->pinning) = (int)strtol(line, NULL, 10);
}

static void read_mounts(struct mounts *m, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	FILE *file = fopen(path, "re");
	m->has_unsafe = !file;
	while (file && !m->has_unsafe && getline(&line, &room, file) > 0)
		take_mount(m, line);
	free(line);
	if (file)
		(void)fclose(file);
}

/* The list is of what can be reached from its root. */
static bool sees_all_mounts(pid_t pid)
{
	char path[64], root[2];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return readlink(path, root, sizeof(root)) == 1;
}

/* ---- what is open ---------------------------------------------------------------------------- */

struct files {
	const struct mounts *mounts;
	VEC(char) text; /* of one */
	unsigned count;
	bool has_ring;
};

/* False: that is not all. One that is closed meanwhile is empty. */
static bool read_text(struct files *f, int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	f->text.count = 0;
	do {
		f->text.count += (size_t)got;
		vec_reserve(&f->text, AT_ONCE);
		got = fd < 0 ? 0 : read(fd, f->text.at + f->text.count, AT_ONCE - 1);
	} while (got > 0 && f->text.count < TEXT_MOST);
	f->text.at[f->text.count] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return got <= 0;
}

static long find_number(const char *text, const char *name, int base)
{
	const char *found = strstr(text, name);

	return found ? strtol(found + strlen(name), NULL, base) : 0;
}

static bool is_pinning(const struct mounts *m, int mount)
{
	for (size_t i = 0; i < m->pinning.count; i++)
		if (m->pinning.at[i] == mount)
			return true;
	return false;
}

/* Files that a ring knows by numbers of its own are not among the descriptors. */
static bool is_harmless(struct files *f)
{
	const char *text = f->text.at;

	f->has_ring |= strstr(text, "UserFiles:") != NULL;
	return find_number(text, "UserFiles:", 10) == 0 &&
	       (!(find_number(text, "flags:", 8) & O_DIRECT) ||
		is_pinning(f->mounts, (int)find_number(text, "mnt_id:", 10)));
}

static bool look_at_all(struct files *f, DIR *files)
{
	const struct dirent *entry;

	while ((entry = readdir(files))) {
		if (entry->d_name[0] == '.')
			continue;
		if (++f->count > DESCRIPTORS_MOST || !read_text(f, dirfd(files), entry->d_name) ||
		    !is_harmless(f))
			return false;
	}
	return true;
}

/* A ring that has no descriptor any more, or is busy, does not tell of its files. */
static bool are_files_harmless(const struct mounts *m, pid_t pid, bool has_ring)
{
	struct files f = {.mounts = m};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	DIR *files = opendir(path);
	bool harmless = files && look_at_all(&f, files) && f.has_ring == has_ring;
	if (files)
		(void)closedir(files);
	vec_free(&f.text);
	return harmless;
}

bool requests_survive_fork(pid_t pid, bool has_ring)
{
	struct utsname kernel;
	struct mounts m = {0};

	if (uname(&kernel) != 0 || !requests_are_pinned_by(kernel.release) || !sees_all_mounts(pid))
		return false;
	read_mounts(&m, pid);
	bool survive = !m.has_unsafe && (!m.has_doubted || are_files_harmless(&m, pid, has_ring));
	vec_free(&m.pinning);
	return survive;
}
