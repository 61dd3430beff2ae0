/* guard.c -- which requests the server answers at all. Runs: in the server's threads, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/guard.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The length of a host without its port. */
static size_t name_length(const char *host)
{
	if (*host == '[') {
		const char *end = strchr(host, ']');

		return end ? (size_t)(end - host) + 1 : 0;
	}
	return strcspn(host, ":");
}

static bool is_port(const char *text)
{
	return *text == '\0' ||
	       (*text == ':' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1));
}

static bool is_name(const char *host, size_t length, const char *name)
{
	return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

static bool is_ours(const char *host, const char *address)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]", NULL};
	size_t length = name_length(host);

	if (!is_port(host + length))
		return false;
	for (size_t i = 0; names[i]; i++)
		if (is_name(host, length, names[i]))
			return true;
	if (!address || !*address)
		return false;
	bool bracketed = *host == '[' && length > 2;
	return is_name(bracketed ? host + 1 : host, bracketed ? length - 2 : length, address);
}

/* An Origin is a scheme and a host; that of the page is this host. */
static bool is_same_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return strncmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
	       strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}

bool guard_lets_in(const struct guard_headers *h, const char *address)
{
	if (!h->host || !is_ours(h->host, address))
		return false;
	if (h->origin && !is_same_origin(h->origin, h->host))
		return false;
	if (!h->fetch_site)
		return true; /* no browser, or an old one */
	if (strcmp(h->fetch_site, "same-origin") == 0 || strcmp(h->fetch_site, "none") == 0)
		return true;
	/* A link that the user follows may begin elsewhere, a mail say; nothing else may. */
	return h->fetch_mode && strcmp(h->fetch_mode, "navigate") == 0;
}

bool guard_find_cookie(const char *header, const char *name, char *value, unsigned room)
{
	size_t length = strlen(name);

	for (const char *at = header; at && *at; at += *at == ';') {
		at += strspn(at, " \t");
		size_t whole = strcspn(at, ";");

		if (whole > length && strncmp(at, name, length) == 0 && at[length] == '=' &&
		    whole - length - 1 < room) {
			memcpy(value, at + length + 1, whole - length - 1);
			value[whole - length - 1] = '\0';
			return true;
		}
		at += whole;
	}
	return false;
}
