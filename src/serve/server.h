/* server.h -- the viewer's page and its data over HTTP. Runs: in the midden command; answers in
 * threads of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whoever asks must be the user's own browser: requests need the session's cookie, which is given
 * for a token that works once, and must name this machine as their host and come from the page
 * itself. Nothing in a request is a path: files go by the number of a frame that has them. */
#ifndef MIDDEN_SERVE_SERVER_H
#define MIDDEN_SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"

struct server_options {
	const char *address; /* to listen on; NULL: 127.0.0.1 */
	uint16_t port;	     /* 0: any that is free */
	const char *socket;  /* path of a UNIX socket to listen on instead; NULL: none */
	bool open_to_all;    /* no token, no cookie */
	bool sources;	     /* source files may be asked for */
};

/* What is shown. Texts are copied; the model must stay until other content is set. */
struct server_content {
	const struct model *model;
	const char *data; /* as page_compress makes it */
	size_t data_bytes;
	const char *old; /* of the profile to compare with; NULL: none */
	size_t old_bytes;
	bool live;
	uint64_t generation;
};

struct server;

/* Begins to answer. NULL with `e`. */
struct server *server_open(const struct server_options *options,
			   const struct server_content *content, struct error *e);

/* Shows something else from now on; requests under way get the one or the other. */
void server_set_content(struct server *s, const struct server_content *content);

/* Whether a page has asked for news of a live program within the last `seconds`. */
bool server_is_watched(struct server *s, unsigned seconds);

/* The address to open, with the token if one is needed; for a UNIX socket only what comes after the
 * host and port that lead to it. */
const char *server_get_url(const struct server *s);

/* Answers what is under way, and no more. */
void server_close(struct server *s);

#endif
