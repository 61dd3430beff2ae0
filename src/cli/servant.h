/* servant.h -- the process that answers HTTP requests about a recording. Runs: the options in
 * `midden record` and `midden collect`, the rest in a collector and in a process that it forks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It asks the collector as `midden top` does: a slow client keeps nobody else waiting. It ends with
 * its collector, however that ends. */
#ifndef MIDDEN_CLI_SERVANT_H
#define MIDDEN_CLI_SERVANT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define SERVANT_TOKEN_LEAST 16u
#define SERVANT_TOKEN_MOST  256u

/* Zero-initialise; `listener` and `announce` are -1 where there is none. */
struct servant_options {
	bool wanted;
	bool is_token_given;
	char address[INET6_ADDRSTRLEN];
	uint16_t port; /* 0: any that is free */
	char token[SERVANT_TOKEN_MOST + 1];
	int listener; /* open already; -1: the servant opens it */
	int announce; /* where the servant says what its address is; -1: nowhere */
};

/* `text` is PORT, ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT; NULL, "" or "1": any free port of the
 * loopback address. -1 with `e`. */
int servant_parse_address(struct servant_options *o, const char *text, struct error *e);

/* Takes the first line of a file as the token. -1 with `e`. */
int servant_read_token(struct servant_options *o, const char *path, struct error *e);

/* Makes a token where none is given. -1 with `e`. */
int servant_prepare(struct servant_options *o, struct error *e);

/* Opens the socket here and now, before there is a servant. -1 with `e`. */
int servant_listen(struct servant_options *o, struct error *e);

/* The address to ask, with the token unless the user knows it; malloc'ed. */
char *servant_make_url(const struct servant_options *o);

/* Zero-initialise. */
struct servant {
	pid_t pid; /* 0: there is none */
};

/* Forks it for the process `target`, unless none is wanted; closes the descriptors of `o` here. To
 * be called before the collector is big. */
void servant_start(struct servant *s, const struct servant_options *o, pid_t target);

void servant_stop(struct servant *s);

#endif
