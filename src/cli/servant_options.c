/* servant_options.c -- where a recording is served and who may ask, from words and files. Runs: in
 * `midden record`, `midden collect` and the servant.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/servant.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/listen.h"
#include "serve/secret.h"

#define LOOPBACK "127.0.0.1"

/* ---- the address ----------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool is_address(const char *text)
{
	struct in6_addr any;

	return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

static int set_port(struct servant_options *o, const char *text, struct error *e)
{
	unsigned long port = is_number(text) ? strtoul(text, NULL, 10) : UINT16_MAX + 1ul;

	if (port > UINT16_MAX)
		return error_set(e, "%s is not a port (0 to 65535)", text);
	o->port = (uint16_t)port;
	return 0;
}

static int set_address(struct servant_options *o, const char *text, size_t length, struct error *e)
{
	if (length >= sizeof(o->address))
		return error_set(e, "%s is not an address (like 127.0.0.1:9464 or [::1]:9464)",
				 text);
	memcpy(o->address, text, length);
	o->address[length] = '\0';
	if (!is_address(o->address))
		return error_set(e, "%s is not an address (like 127.0.0.1:9464 or [::1]:9464)",
				 text);
	return 0;
}

static int parse_parts(struct servant_options *o, const char *text, struct error *e)
{
	const char *colon = strrchr(text, ':');

	if (*text == '[') {
		const char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return error_set(e, "%s has no ] where its address ends", text);
		if (set_address(o, text + 1, (size_t)(end - text) - 1, e))
			return -1;
		return end[1] ? set_port(o, end + 2, e) : 0;
	}
	if (!colon || is_address(text))
		return set_address(o, text, strlen(text), e);
	if (set_address(o, text, (size_t)(colon - text), e))
		return -1;
	return set_port(o, colon + 1, e);
}

int servant_parse_address(struct servant_options *o, const char *text, struct error *e)
{
	o->wanted = true;
	o->port = 0;
	memcpy(o->address, LOOPBACK, sizeof(LOOPBACK));
	if (!text || !*text || strcmp(text, "1") == 0)
		return 0;
	return is_number(text) ? set_port(o, text, e) : parse_parts(o, text, e);
}

/* ---- the token ------------------------------------------------------------------------------- */

/* As it goes into a header and an address without escapes. */
static bool is_token(const char *text)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-._~";
	size_t length = strlen(text);

	return length >= SERVANT_TOKEN_LEAST && length <= SERVANT_TOKEN_MOST &&
	       strspn(text, good) == length;
}

int servant_read_token(struct servant_options *o, const char *path, struct error *e)
{
	char line[SERVANT_TOKEN_MOST + 3] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return error_set_errno(e, "cannot read the token from %s", path);
	bool got = fgets(line, sizeof(line), file) != NULL;
	(void)fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	if (!got || !is_token(line))
		return error_set(e,
				 "%s: its first line is no token: %u to %u letters, digits and "
				 "-._~ are",
				 path, SERVANT_TOKEN_LEAST, SERVANT_TOKEN_MOST);
	memcpy(o->token, line, strlen(line) + 1);
	o->is_token_given = true;
	return 0;
}

int servant_prepare(struct servant_options *o, struct error *e)
{
	if (!o->wanted || o->is_token_given)
		return 0;
	return secret_make(o->token) ? 0 : error_set(e, "the kernel gives no random numbers");
}

/* ---- the socket ------------------------------------------------------------------------------ */

int servant_listen(struct servant_options *o, struct error *e)
{
	struct error why = {0};

	o->listener = listen_tcp(o->address, &o->port, &why);
	if (o->listener >= 0)
		return 0;
	return error_set(e, "%s (port %u)", why.text, (unsigned)o->port);
}

char *servant_make_url(const struct servant_options *o)
{
	bool v6 = strchr(o->address, ':') != NULL;

	return mem_format("http://%s%s%s:%u/%s%s", v6 ? "[" : "", o->address, v6 ? "]" : "",
			  (unsigned)o->port,
			  o->is_token_given ? "" : "?token=", o->is_token_given ? "" : o->token);
}
