/* lock_memory.c -- locks all of its memory, as programs do that must not wait for the disk. Run by
 * tests/e2e/harsh.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints how many kilobytes are then locked and resident, or `refused`. Heap: 1,000 blocks of 1,000
 * bytes before it, and as many after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *volatile kept;

static void make_blocks(void)
{
	for (int i = 0; i < 1000; i++)
		kept = malloc(1000);
}

int main(void)
{
	char line[256];

	make_blocks();
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
		puts("refused");
		return 0;
	}
	make_blocks();
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmLck:", 6) == 0 || strncmp(line, "VmRSS:", 6) == 0)
			fputs(line, stdout);
	return status == NULL;
}
