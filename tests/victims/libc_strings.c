/* libc_strings.c -- blocks that libc allocates on the program's behalf. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 100 x strdup of 12 bytes and strndup of 6, all freed. Mode `streams`: tmpfile, getline,
 * asprintf, open_memstream over 1,000 lines; the sizes are libc's own affair, but every block is
 * given back: allocations equal frees, nothing is left. */
#include "truth.h"

#include <stdio.h>

static void copies(void)
{
	for (int i = 0; i < 100; i++) {
		char *a = truth_got(strdup("ten letters"), 12);
		char *b = truth_got(strndup("ten letters", 5), 6);

		truth_free(a, 12);
		truth_free(b, 6);
	}
}

/* Every block is given back, so allocations equal frees and nothing is left. */
static void streams(void)
{
	char *line = NULL, *text = NULL, *made = NULL;
	size_t room = 0, bytes = 0;
	FILE *in = tmpfile(), *out = open_memstream(&made, &bytes);

	truth_expect(in && out);
	for (int i = 0; i < 1000; i++)
		truth_expect(fputs("a line of some length to be read back\n", in) >= 0);
	rewind(in);
	while (getline(&line, &room, in) > 0) {
		int length = asprintf(&text, "%s%s", line, line);

		truth_expect(length > 0 && fputs(text, out) >= 0);
		free(text);
	}
	free(line);
	fclose(in);
	fclose(out);
	truth_expect(bytes == 2 * 38 * 1000);
	free(made);
}

int main(int argc, char **argv)
{
	if (truth_mode_is(argc, argv, "streams"))
		streams();
	else
		copies();
	return 0;
}
