/* fuzz_guard.c -- any headers of a request: who is let in is from this machine, and cookies fit.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is up to six texts, each ended by a NUL byte: host, origin, site and mode of a fetch,
 * cookies, the address that the server listens on. A text that is "-" is a header that is not
 * there. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "serve/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define TEXTS 6u

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* The next text in a block of its own, so that a sanitizer sees its end; NULL: it is not there. */
static char *take_text(const uint8_t **data, size_t *left)
{
	size_t length = strnlen((const char *)*data, *left);
	char *text = mem_new(length + 1, 1);

	memcpy(text, *data, length);
	*data += length;
	*left -= length;
	if (*left) {
		++*data;
		--*left;
	}
	if (strcmp(text, "-") != 0)
		return text;
	free(text);
	return NULL;
}

static bool begins_with(const char *host, const char *name)
{
	return strncasecmp(host, name, strlen(name)) == 0;
}

/* Whoever is let in has named this machine, with nothing but a port behind it. */
static void check_host(const char *host, const char *address)
{
	const char *bare = *host == '[' ? host + 1 : host;

	expect(begins_with(host, "127.0.0.1") || begins_with(host, "localhost") ||
	       begins_with(host, "[::1]") || (address && *address && begins_with(bare, address)));
	expect(!strpbrk(host, "@/#?\\") || (address && strpbrk(address, "@/#?\\")));
}

static void check_cookie(const char *header, unsigned room)
{
	char value[64];

	memset(value, 0x55, sizeof(value));
	if (!guard_find_cookie(header, "token", value, room))
		return;
	expect(room && memchr(value, 0, room) && header && strstr(header, "token="));
	for (size_t i = room; i < sizeof(value); i++)
		expect(value[i] == 0x55);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *texts[TEXTS];

	for (unsigned i = 0; i < TEXTS; i++)
		texts[i] = take_text(&data, &bytes);
	const struct guard_headers headers = {.host = texts[0],
					      .origin = texts[1],
					      .fetch_site = texts[2],
					      .fetch_mode = texts[3]};
	if (guard_lets_in(&headers, texts[5]))
		check_host(texts[0], texts[5]);
	for (unsigned room = 0; room < 64; room += 9)
		check_cookie(texts[4], room);
	for (unsigned i = 0; i < TEXTS; i++)
		free(texts[i]);
	return 0;
}
