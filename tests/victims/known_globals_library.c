/* known_globals_library.c -- the library of known_globals.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>

enum { KIB = 1024, MIB = 1024 * KIB, PAGE = 64 * KIB };

char library_zeros[1 * MIB] __attribute__((aligned(PAGE)));

void library_touch(void);

void library_touch(void)
{
	madvise(library_zeros, sizeof(library_zeros), MADV_NOHUGEPAGE);
	memset(library_zeros, 1, 256 * KIB);
}
