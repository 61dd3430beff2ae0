/* between.c -- victim library: stands between libmidden.so and libc, for a few functions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded behind libmidden.so. Each function looks for the next one when it is called, and hands
 * the call on. Blocks are libc's, and malloc is not wrapped. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

void free(void *block)
{
	NEXT(free)(block);
}

void *realloc(void *block, size_t bytes)
{
	return NEXT(realloc)(block, bytes);
}

pid_t fork(void)
{
	return NEXT(fork)();
}

int execve(const char *path, char *const arguments[], char *const environment[])
{
	return NEXT(execve)(path, arguments, environment);
}

int dlclose(void *handle)
{
	return NEXT(dlclose)(handle);
}
