/* charsets.c -- libraries that libc itself loads and unloads, without dlopen and dlclose.
 * Runs: under midden, by tests/e2e/stacks, with GCONV_PATH where charset_library.c is built.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: charsets NAME...
 *
 * Opens and closes a conversion from each character set in turn. glibc keeps its modules for a
 * while and unloads them when others have come and gone. Prints `reused N`: how often a module was
 * found where another one had been. */
#include "oracle.h"

#include <iconv.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MOST 64

struct search {
	const char *name;
	ElfW(Addr) found;
};

static int at_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	if (name && strstr(name, search->name))
		search->found = info->dlpi_addr;
	return 0;
}

/* Whether `name` is now where another module was seen. */
static int is_reused(const char *name)
{
	static struct search places[PLACES_MOST];
	static unsigned count;
	struct search search = {.name = name};
	int reused = 0;

	dl_iterate_phdr(at_object, &search);
	for (unsigned i = 0; i < count; i++)
		reused |= places[i].found == search.found && strcmp(places[i].name, name) != 0;
	if (search.found && count < PLACES_MOST)
		places[count++] = search;
	return reused;
}

int main(int argc, char **argv)
{
	int reused = 0;

	oracle_mark();
	for (int round = 0; round < 8; round++) {
		for (int i = 1; i < argc; i++) {
			iconv_t conversion = iconv_open("UTF-8", argv[i]);

			if (conversion == (iconv_t)-1) {
				perror(argv[i]);
				return 1;
			}
			reused += is_reused(argv[i]);
			iconv_close(conversion);
		}
	}
	printf("reused %d\n", reused);
	return 0;
}
