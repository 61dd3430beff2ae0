/* own_malloc.c -- victim: a program with a malloc and a free of its own that hand on to the next.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes and frees 50 blocks of 777 bytes, and has one of 10 resized to 888; a child that it forks
 * makes and frees one of 3. Ends with 7. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

void *malloc(size_t bytes)
{
	if (!next_malloc)
		next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next_malloc(bytes);
}

void free(void *block)
{
	if (!next_free)
		next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_free(block);
}

int main(void)
{
	int status = 0;

	for (int i = 0; i < 50; i++)
		free(malloc(777));
	free(realloc(malloc(10), 888));
	pid_t child = fork();
	if (child == 0) {
		free(malloc(3));
		_exit(7);
	}
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
}
