/* new_title.c -- writes a title over its arguments and environment, as servers do, and becomes
 * another program. Run by tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: PROGRAM [ARGUMENTS]. Heap: copies of its arguments and environment, by strdup, and one
 * array for each; nothing is freed. What the kernel put on the stack is then overwritten with 'x'
 * from the first argument to the end of the last variable. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* A copy; *end is moved behind the last string. */
static char **copy(char **words, char **end)
{
	size_t count = 0;

	while (words[count])
		count++;
	char **all = calloc(count + 1, sizeof(*all));
	for (size_t i = 0; all && i < count; i++) {
		if (words[i] >= *end)
			*end = words[i] + strlen(words[i]) + 1;
		all[i] = strdup(words[i]);
	}
	return all;
}

int main(int argc, char **argv)
{
	char *start = argv[0], *end = argv[0];
	char **arguments = copy(argv, &end);
	char **variables = copy(environ, &end);

	if (argc < 2 || !arguments || !variables)
		return 1;
	environ = variables;
	memset(start, 'x', (size_t)(end - start));
	execv(arguments[1], arguments + 1);
	return 1;
}
