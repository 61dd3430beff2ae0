/* lost_exit.c -- blocks whose addresses lie where exit() puts its frames, or in those of who calls
 * it. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Without an argument, main returns 7. With "exit", a function below main calls exit(7) that has a
 * block in its frame; with "register" one in a register that calls keep, and nowhere else. Each of
 * shape_NAME makes one block. */
#include <stdlib.h>
#include <string.h>

#define BURIED_WORDS 2000

__attribute__((noinline)) static void *block(void)
{
	return calloc(1, 64);
}

/* Returns with its frame full of the address. */
__attribute__((noinline)) static void shape_buried(void)
{
	void *volatile words[BURIED_WORDS];
	void *made = block();

	for (unsigned i = 0; i < BURIED_WORDS; i++)
		words[i] = made;
	(void)words;
}

__attribute__((noinline)) static void *shape_in_a_frame(void)
{
	return block();
}

__attribute__((noinline)) static void *shape_in_a_register(void)
{
	return block();
}

__attribute__((noinline)) static void leave_by_frame(void)
{
	void *volatile kept[4] = {shape_in_a_frame()};

	shape_buried();
	exit(kept[1] ? 8 : 7);
}

/* Others than those of the x86_64 and aarch64 calling conventions are not known here. */
#if defined(__x86_64__)
#define KEPT_REGISTER "r14"
#else
#define KEPT_REGISTER "x24"
#endif

__attribute__((noinline)) static void leave_by_register(void)
{
	register void *kept __asm__(KEPT_REGISTER) = shape_in_a_register();

	__asm__ volatile("" : "+r"(kept)); /* here it is in there */
	shape_buried();
	__asm__ volatile("" : "+r"(kept));
	exit(7);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		leave_by_frame();
	if (argc > 1 && strcmp(argv[1], "register") == 0)
		leave_by_register();
	shape_buried();
	return 7;
}
