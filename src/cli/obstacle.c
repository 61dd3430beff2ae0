/* obstacle.c -- why a program cannot be recorded, in words. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/obstacle.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/program.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static bool is_executable(const char *path)
{
	struct stat file;

	return access(path, X_OK) == 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* Searches a list of directories, of which an empty one is the working directory. */
static char *find_in(const char *list, const char *name)
{
	for (;; list++) {
		int length = (int)strcspn(list, ":");
		char *path = mem_format("%.*s/%s", length ? length : 1, length ? list : ".", name);

		if (is_executable(path))
			return path;
		free(path);
		list += length;
		if (!*list)
			return NULL;
	}
}

/* The file that execvp would run for `name`; malloc'ed, NULL if there is none. */
static char *find_program(const char *name)
{
	const char *list = getenv("PATH");
	char usual[256] = "";

	if (strchr(name, '/'))
		return mem_copy_string(name);
	if (!list)
		(void)confstr(_CS_PATH, usual, sizeof(usual));
	return find_in(list ? list : usual, name);
}

static bool starts_with_shebang(const char *path)
{
	char start[2] = "";
	FILE *f = fopen(path, "re");
	bool is = f && fread(start, 2, 1, f) == 1 && memcmp(start, "#!", 2) == 0;

	if (f)
		(void)fclose(f);
	return is;
}

bool obstacle_is_script(const char *name)
{
	char *path = find_program(name);
	bool is = path && starts_with_shebang(path);

	free(path);
	return is;
}

char *obstacle_find_elf(const char *name, bool *is_jealous)
{
	char *path = find_program(name);
	struct program_facts facts = path ? program_examine(path) : (struct program_facts){0};

	*is_jealous = facts.sanitizer && !facts.has_runtime &&
		      strcmp(facts.sanitizer, "AddressSanitizer") == 0;
	if (facts.is_elf)
		return path;
	free(path);
	return NULL;
}

/* Its rights are not those of its user, so the loader takes no libraries from him. */
static bool is_privileged(const char *path)
{
	struct stat file;

	return (stat(path, &file) == 0 && (file.st_mode & (S_ISUID | S_ISGID))) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

static char *explain_file(const char *path)
{
	struct program_facts facts = program_examine(path);

	if (facts.is_elf && facts.machine != OWN_MACHINE)
		return mem_copy_string("it is built for another architecture (name its "
				       "libmidden.so with --library)");
	if (facts.is_elf && facts.is_static)
		return mem_copy_string("it is statically linked, so no library can be put into it");
	if (facts.sanitizer && facts.has_runtime)
		return mem_format("it is built with %s, which has a malloc of its own",
				  facts.sanitizer);
	if (is_privileged(path))
		return mem_copy_string("it is setuid, setgid or has capabilities of its own, so "
				       "the loader takes no library from its user");
	return mem_copy_string("it did not load libmidden.so");
}

char *obstacle_explain(const char *name)
{
	char *path = find_program(name);
	char *text = path ? explain_file(path) : mem_copy_string("it did not load libmidden.so");

	free(path);
	return text;
}
