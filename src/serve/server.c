/* server.c -- the viewer's page and its data over HTTP. Runs: in the midden command; answers in
 * threads of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/guard.h"
#include "serve/listen.h"
#include "serve/page.h"
#include "serve/secret.h"
#include "serve/sourcefile.h"

#define CONNECTIONS_MOST 64u
#define IDLE_SECONDS	 30u
#define COOKIE_BYTES	 64

struct server {
	struct MHD_Daemon *daemon;
	struct server_options options;
	char *address;
	char *socket;
	char *url;
	char cookie_name[32]; /* with the port: servers on one machine share their cookies */
	char token[SECRET_CHARS + 1];
	char session[SECRET_CHARS + 1];
	pthread_mutex_t lock; /* of what follows */
	bool token_used;
	time_t asked_at; /* of CLOCK_MONOTONIC, when the state was last asked for; 0: never */
	struct server_content content;
	char *data;
	char *old;
};

/* ---- answers --------------------------------------------------------------------------------- */

/* The page loads nothing from elsewhere and is shown in no other page. */
static const struct {
	const char *name;
	const char *value;
} headers[] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src "
	 "data:; "
	 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	{"Cache-Control", "no-store"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
};

static struct MHD_Response *make_response(const char *bytes, size_t count, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(count, (void *)(uintptr_t)bytes,
								 MHD_RESPMEM_MUST_COPY);

	if (!r)
		return NULL;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(r, headers[i].name, headers[i].value);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return r;
}

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status,
				     struct MHD_Response *r)
{
	if (!r)
		return MHD_NO;
	enum MHD_Result result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r = make_response(text, strlen(text), "text/plain; charset=utf-8");

	if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return send_response(c, status, r);
}

static enum MHD_Result send_page(struct server *s, struct MHD_Connection *c, bool begins)
{
	size_t bytes;
	const char *page = page_get(&bytes);
	struct MHD_Response *r = make_response(page, bytes, "text/html; charset=utf-8");

	if (r && begins) {
		char *cookie = mem_format("%s=%s; Path=/; HttpOnly; SameSite=Strict",
					  s->cookie_name, s->session);

		MHD_add_response_header(r, MHD_HTTP_HEADER_SET_COOKIE, cookie);
		free(cookie);
	}
	return send_response(c, MHD_HTTP_OK, r);
}

static enum MHD_Result send_data(struct server *s, struct MHD_Connection *c, bool old)
{
	pthread_mutex_lock(&s->lock);
	const char *bytes = old ? s->old : s->data;
	struct MHD_Response *r =
		bytes ? make_response(bytes, old ? s->content.old_bytes : s->content.data_bytes,
				      "application/octet-stream")
		      : NULL;
	pthread_mutex_unlock(&s->lock);
	if (!bytes)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is nothing to compare with\n");
	if (r)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	return send_response(c, MHD_HTTP_OK, r);
}

static time_t get_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static enum MHD_Result send_state(struct server *s, struct MHD_Connection *c)
{
	char text[160];

	pthread_mutex_lock(&s->lock);
	s->asked_at = get_seconds();
	snprintf(text, sizeof(text),
		 "{\"live\": %s, \"generation\": %llu, \"old\": %s, \"sources\": %s}\n",
		 s->content.live ? "true" : "false", (unsigned long long)s->content.generation,
		 s->old ? "true" : "false", s->options.sources ? "true" : "false");
	pthread_mutex_unlock(&s->lock);
	return send_response(c, MHD_HTTP_OK, make_response(text, strlen(text), "application/json"));
}

/* ---- sources --------------------------------------------------------------------------------- */

/* The file of the frame with that number, copied; NULL if there is none. */
static char *find_file(struct server *s, const char *number)
{
	char *end;
	char *path = NULL;

	if (!number || *number < '0' || *number > '9')
		return NULL;
	unsigned long frame = strtoul(number, &end, 10);
	pthread_mutex_lock(&s->lock);
	if (*end == '\0' && s->content.model && frame < model_get_frame_count(s->content.model))
		path = mem_copy_string(model_get_frame(s->content.model, (uint32_t)frame)->file);
	pthread_mutex_unlock(&s->lock);
	return path;
}

static enum MHD_Result send_source(struct server *s, struct MHD_Connection *c)
{
	char *path = find_file(s, MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "frame"));
	enum sourcefile_result result = SOURCEFILE_MISSING;
	size_t bytes = 0;
	char *text = NULL;

	if (path && s->options.sources)
		result = sourcefile_read(path, &text, &bytes);
	free(path);
	if (result == SOURCEFILE_REFUSED)
		return refuse(c, MHD_HTTP_FORBIDDEN, "this file may not be read\n");
	if (result != SOURCEFILE_READ)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is no such source file\n");
	struct MHD_Response *r = make_response(text, bytes, "text/plain; charset=utf-8");
	free(text);
	return send_response(c, MHD_HTTP_OK, r);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_let_in(const struct server *s, struct MHD_Connection *c)
{
	const struct guard_headers h = {
		.host = header_of(c, MHD_HTTP_HEADER_HOST),
		.origin = header_of(c, MHD_HTTP_HEADER_ORIGIN),
		.fetch_site = header_of(c, "Sec-Fetch-Site"),
		.fetch_mode = header_of(c, "Sec-Fetch-Mode"),
	};

	return guard_lets_in(&h, s->address);
}

static bool has_session(const struct server *s, struct MHD_Connection *c)
{
	char value[COOKIE_BYTES];

	if (s->options.open_to_all)
		return true;
	return guard_find_cookie(header_of(c, MHD_HTTP_HEADER_COOKIE), s->cookie_name, value,
				 sizeof(value)) &&
	       secret_is(s->session, value);
}

/* A token is good for one browser. */
static bool takes_token(struct server *s, struct MHD_Connection *c)
{
	const char *token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");

	if (s->options.open_to_all || !secret_is(s->token, token))
		return false;
	pthread_mutex_lock(&s->lock);
	bool good = !s->token_used;
	s->token_used = true;
	pthread_mutex_unlock(&s->lock);
	return good;
}

static enum MHD_Result answer_path(struct server *s, struct MHD_Connection *c, const char *path)
{
	bool begins = strcmp(path, "/") == 0 && takes_token(s, c);

	if (!begins && !has_session(s, c))
		return refuse(c, MHD_HTTP_FORBIDDEN,
			      "Open the address that midden printed; it works once. To look from "
			      "another browser, start midden view again.\n");
	if (strcmp(path, "/") == 0)
		return send_page(s, c, begins);
	if (strcmp(path, "/data") == 0)
		return send_data(s, c, false);
	if (strcmp(path, "/old") == 0)
		return send_data(s, c, true);
	if (strcmp(path, "/state") == 0)
		return send_state(s, c);
	if (strcmp(path, "/source") == 0)
		return send_source(s, c);
	return refuse(c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

/* Called for every request, more than once if it has a body, which none of ours has. */
static enum MHD_Result answer_request(void *context, struct MHD_Connection *c, const char *path,
				      const char *method, const char *version, const char *body,
				      size_t *body_bytes, void **request)
{
	struct server *s = context;

	(void)version;
	(void)body;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		*body_bytes = 0;
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	}
	if (!is_let_in(s, c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "this server is for its own page only\n");
	return answer_path(s, c, path);
}

/* ---- the server ------------------------------------------------------------------------------ */

static char *copy_bytes(const char *bytes, size_t count)
{
	if (!bytes)
		return NULL;
	char *copy = mem_new(count ? count : 1, 1);
	memcpy(copy, bytes, count);
	return copy;
}

void server_set_content(struct server *s, const struct server_content *content)
{
	char *data = copy_bytes(content->data, content->data_bytes);
	char *old = copy_bytes(content->old, content->old_bytes);

	pthread_mutex_lock(&s->lock);
	char *data_before = s->data;
	char *old_before = s->old;
	s->content = *content;
	s->data = data;
	s->old = old;
	pthread_mutex_unlock(&s->lock);
	free(data_before);
	free(old_before);
}

static void make_url(struct server *s, uint16_t port)
{
	bool v6 = strchr(s->address, ':') != NULL;
	bool token = !s->options.open_to_all;

	snprintf(s->cookie_name, sizeof(s->cookie_name), "midden-%u", (unsigned)port);
	if (s->socket)
		s->url = mem_format("%s%s", token ? "?token=" : "", token ? s->token : "");
	else
		s->url = mem_format("http://%s%s%s:%u/%s%s", v6 ? "[" : "", s->address,
				    v6 ? "]" : "", (unsigned)port, token ? "?token=" : "",
				    token ? s->token : "");
}

/* Nothing that we are asked for needs escapes, and what they could hide we need not know. */
static size_t leave_escaped(void *context, struct MHD_Connection *c, char *text)
{
	(void)context;
	(void)c;
	return strlen(text);
}

static int start(struct server *s, struct error *e)
{
	uint16_t port = s->options.port;
	int fd = s->socket ? listen_unix(s->socket, e) : listen_tcp(s->address, &port, e);

	if (fd < 0)
		return -1;
	make_url(s, port);
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, answer_request, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_UNESCAPE_CALLBACK,
		leave_escaped, NULL, MHD_OPTION_END);
	if (s->daemon)
		return 0;
	close(fd);
	return error_set(e, "the server cannot be started");
}

struct server *server_open(const struct server_options *options,
			   const struct server_content *content, struct error *e)
{
	struct server *s = mem_new(1, sizeof(*s));

	s->options = *options;
	s->address = mem_copy_string(options->address ? options->address : "127.0.0.1");
	s->socket = options->socket ? mem_copy_string(options->socket) : NULL;
	pthread_mutex_init(&s->lock, NULL);
	server_set_content(s, content);
	if (!secret_make(s->token) || !secret_make(s->session))
		error_set(e, "the kernel gives no random numbers");
	else if (start(s, e) == 0)
		return s;
	server_close(s);
	return NULL;
}

bool server_is_watched(struct server *s, unsigned seconds)
{
	pthread_mutex_lock(&s->lock);
	bool watched = s->asked_at && get_seconds() - s->asked_at <= (time_t)seconds;
	pthread_mutex_unlock(&s->lock);
	return watched;
}

const char *server_get_url(const struct server *s)
{
	return s->url;
}

void server_close(struct server *s)
{
	if (s->daemon) {
		MHD_stop_daemon(s->daemon);
		if (s->socket)
			unlink(s->socket);
	}
	pthread_mutex_destroy(&s->lock);
	free(s->address);
	free(s->socket);
	free(s->url);
	free(s->data);
	free(s->old);
	free(s);
}
