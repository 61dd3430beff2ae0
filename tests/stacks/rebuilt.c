/* rebuilt.c -- a library that is built anew and loaded again under its name, at its old place, while
 * the program runs: rebuilt HERE LIBRARY... Each has `rebuilt_call`, in frames of its own size, and
 * no build-id to tell it from the others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "oracle.h"

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out;

	(void)unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (in < 0 || out < 0)
		return -1;
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		continue;
	(void)close(in);
	return close(out);
}

static int use(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*call)(void (*)(void)) =
		handle ? (void (*)(void (*)(void)))(uintptr_t)dlsym(handle, "rebuilt_call") : NULL;

	if (!call) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	for (int i = 0; i < 10; i++)
		call(oracle_mark);
	return dlclose(handle);
}

int main(int argc, char **argv)
{
	for (int round = 0; round < 3; round++)
		for (int i = 2; i < argc; i++)
			if (copy(argv[i], argv[1]) || use(argv[1]))
				return 1;
	return argc < 3;
}
