/* endpoint.c -- how a recorded program stands, over HTTP, for other tools: pprof's paths, metrics,
 * snapshots. Runs: in a process of its own beside a collector; answers in threads, a few at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve/endpoint.h"

#include <inttypes.h>
#include <malloc.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "export/export.h"
#include "serve/guard.h"
#include "serve/secret.h"

/* Each takes a thread, and the memory of an answer while a slow client takes it. */
#define CONNECTIONS_MOST 16u
#define IDLE_SECONDS	 15u
#define STACK_BYTES	 (1u << 20)
#define SECONDS_MOST	 300u
#define TEXT_TYPE	 "text/plain; charset=utf-8"

struct endpoint {
	struct MHD_Daemon *daemon;
	struct endpoint_options options;
	const struct endpoint_source *source;
	pthread_mutex_t lock; /* around every call of the source and the use of what it gave */
};

/* One request that may be answered. */
struct call {
	struct endpoint *endpoint;
	struct MHD_Connection *connection;
};

/* ---- answers --------------------------------------------------------------------------------- */

/* The text is the response's from here on. */
static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, char *text,
				 size_t bytes, const char *type)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Bearer realm=\"midden\"");
	enum MHD_Result result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	char *text = mem_format("%s\n", why);

	return send_text(c, status, text, strlen(text), TEXT_TYPE);
}

static enum MHD_Result send_list(const struct call *c)
{
	return refuse(c->connection, MHD_HTTP_OK,
		      "GET  /debug/pprof/heap    what is live, for pprof; ?seconds=N: the change\n"
		      "GET  /debug/pprof/allocs  all that was allocated\n"
		      "GET  /metrics             OpenMetrics\n"
		      "POST /snapshot?name=NAME  keeps what is live in the recording");
}

/* ---- pprof ----------------------------------------------------------------------------------- */

static const char *argument_of(const struct call *c, const char *name)
{
	return MHD_lookup_connection_value(c->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* 0: not asked for; -1: that is no number of seconds. */
static int get_seconds(const struct call *c)
{
	const char *text = argument_of(c, "seconds");
	char *end;

	if (!text)
		return 0;
	unsigned long seconds = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	return seconds && !*end && seconds <= SECONDS_MOST ? (int)seconds : -1;
}

/* What the sites have now, to be compared with later. */
struct earlier {
	struct export_earlier shown;
	struct profile_site *sites;
	uint64_t start_unix_ns; /* of the recording */
};

static bool note_earlier(const struct call *c, struct earlier *before, struct error *e)
{
	struct endpoint *p = c->endpoint;

	pthread_mutex_lock(&p->lock);
	const struct model *m = p->source->look(p->source->context, e);
	if (m) {
		const struct profile *from = model_get_profile(m);
		size_t count = from->sites.count;

		before->sites = mem_new(count + 1, sizeof(*before->sites));
		if (count)
			memcpy(before->sites, from->sites.at, count * sizeof(*before->sites));
		before->shown =
			(struct export_earlier){before->sites, count, from->run.duration_ns};
		before->start_unix_ns = from->run.start_unix_ns;
	}
	pthread_mutex_unlock(&p->lock);
	return m != NULL;
}

static int print_pprof(FILE *out, const struct call *c, enum figure figure,
		       const struct earlier *before, struct error *e)
{
	struct endpoint *p = c->endpoint;
	int result = -1;

	pthread_mutex_lock(&p->lock);
	const struct model *m = p->source->look(p->source->context, e);
	if (m) {
		bool is_same = model_get_profile(m)->run.start_unix_ns == before->start_unix_ns;
		const struct export_request request = {
			.model = m,
			.figure = figure,
			.by_figure_given = true,
			.live = true,
			.earlier = is_same ? &before->shown : NULL,
		};

		result = export_find("pprof")->write(out, &request, e);
	}
	pthread_mutex_unlock(&p->lock);
	return result;
}

/* A program that has become another one meanwhile has nothing to compare with: it is told whole. */
static enum MHD_Result send_pprof(const struct call *c, enum figure figure)
{
	struct earlier before = {0};
	struct error e = {0};
	char *text = NULL;
	size_t bytes = 0;
	int seconds = get_seconds(c);

	if (seconds < 0)
		return refuse(c->connection, MHD_HTTP_BAD_REQUEST, "seconds must be 1 to 300");
	if (seconds && !note_earlier(c, &before, &e))
		return refuse(c->connection, MHD_HTTP_SERVICE_UNAVAILABLE, e.text);
	if (seconds)
		(void)nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
	FILE *out = open_memstream(&text, &bytes);
	int result = out ? print_pprof(out, c, figure, &before, &e) : -1;
	if (out)
		(void)fclose(out);
	free(before.sites);
	if (result == 0)
		return send_text(c->connection, MHD_HTTP_OK, text, bytes,
				 "application/octet-stream");
	free(text);
	return refuse(c->connection, MHD_HTTP_SERVICE_UNAVAILABLE, e.text);
}

static enum MHD_Result send_heap(const struct call *c)
{
	return send_pprof(c, FIGURE_LEAKED);
}

static enum MHD_Result send_allocs(const struct call *c)
{
	return send_pprof(c, FIGURE_ALLOCATED);
}

/* ---- metrics and snapshots ------------------------------------------------------------------- */

static bool print_metrics(FILE *out, struct endpoint *p, struct error *e)
{
	struct openmetrics_cost cost = {0};

	pthread_mutex_lock(&p->lock);
	const struct model *m = p->source->look(p->source->context, e);
	if (m) {
		p->source->weigh(p->source->context, &cost);
		openmetrics_print(out, m, &cost);
	}
	pthread_mutex_unlock(&p->lock);
	return m != NULL;
}

static enum MHD_Result send_metrics(const struct call *c)
{
	struct error e = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	bool good = out && print_metrics(out, c->endpoint, &e);

	if (out)
		(void)fclose(out);
	if (good)
		return send_text(c->connection, MHD_HTTP_OK, text, bytes, OPENMETRICS_TYPE);
	free(text);
	return refuse(c->connection, MHD_HTTP_SERVICE_UNAVAILABLE, e.text);
}

static enum MHD_Result keep_snapshot(const struct call *c)
{
	struct endpoint *p = c->endpoint;
	const char *name = argument_of(c, "name");
	struct endpoint_snapshot kept = {0};
	struct error e = {0};

	if (name && strlen(name) > ENDPOINT_NAME_MOST)
		return refuse(c->connection, MHD_HTTP_BAD_REQUEST, "a name has at most 95 bytes");
	pthread_mutex_lock(&p->lock);
	int result = p->source->keep(p->source->context, name ? name : "", &kept, &e);
	pthread_mutex_unlock(&p->lock);
	if (result != 0)
		return refuse(c->connection, MHD_HTTP_SERVICE_UNAVAILABLE, e.text);
	char *text = mem_format("{\"number\": %" PRIu64 ", \"time_ns\": %" PRIu64
				", \"live_bytes\": %" PRIu64 ", \"live_blocks\": %" PRIu64 "}\n",
				kept.number, kept.time_ns, kept.live_bytes, kept.live_blocks);
	return send_text(c->connection, MHD_HTTP_OK, text, strlen(text), "application/json");
}

/* ---- requests -------------------------------------------------------------------------------- */

static const struct path {
	const char *path;
	const char *method; /* HEAD goes with GET */
	enum MHD_Result (*answer)(const struct call *c);
} paths[] = {
	{"/", MHD_HTTP_METHOD_GET, send_list},
	{"/debug/pprof/heap", MHD_HTTP_METHOD_GET, send_heap},
	{"/debug/pprof/allocs", MHD_HTTP_METHOD_GET, send_allocs},
	{"/metrics", MHD_HTTP_METHOD_GET, send_metrics},
	{"/snapshot", MHD_HTTP_METHOD_POST, keep_snapshot},
};

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_wildcard(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

static bool is_let_in(const struct endpoint *p, struct MHD_Connection *c)
{
	const struct guard_headers h = {
		.host = header_of(c, MHD_HTTP_HEADER_HOST),
		.origin = header_of(c, MHD_HTTP_HEADER_ORIGIN),
		.fetch_site = header_of(c, "Sec-Fetch-Site"),
		.fetch_mode = header_of(c, "Sec-Fetch-Mode"),
	};

	return is_wildcard(p->options.address) || guard_lets_in(&h, p->options.address);
}

/* In a header, as scrapers send it, or in the address, which is all that pprof can do. */
static bool has_token(const struct call *c)
{
	static const char scheme[] = "Bearer ";
	const char *header = header_of(c->connection, MHD_HTTP_HEADER_AUTHORIZATION);
	const char *token = c->endpoint->options.token;

	if (header && strncasecmp(header, scheme, sizeof(scheme) - 1) == 0)
		return secret_equals(token, header + sizeof(scheme) - 1);
	return secret_equals(token, argument_of(c, "token"));
}

static bool is_method(const struct path *p, const char *method)
{
	return strcmp(method, p->method) == 0 || (strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 &&
						  strcmp(p->method, MHD_HTTP_METHOD_GET) == 0);
}

static enum MHD_Result answer_call(const struct call *c, const char *path, const char *method)
{
	if (!is_let_in(c->endpoint, c->connection))
		return refuse(c->connection, MHD_HTTP_FORBIDDEN,
			      "this is not the host that was asked for");
	if (!has_token(c))
		return refuse(c->connection, MHD_HTTP_UNAUTHORIZED,
			      "the token is missing or wrong: Authorization: Bearer TOKEN, or "
			      "?token=TOKEN");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (strcmp(path, paths[i].path) != 0)
			continue;
		if (!is_method(&paths[i], method))
			return refuse(c->connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				      strcmp(paths[i].method, MHD_HTTP_METHOD_POST) == 0
					      ? "only POST"
					      : "only GET and HEAD");
		return paths[i].answer(c);
	}
	return refuse(c->connection, MHD_HTTP_NOT_FOUND, "there is no such path");
}

/* Called for every request more than once: when its headers are there, for each part of a body,
 * which nobody needs, and at its end, which is the time to answer. */
static enum MHD_Result answer_request(void *context, struct MHD_Connection *c, const char *path,
				      const char *method, const char *version, const char *body,
				      size_t *body_bytes, void **request)
{
	static char seen;
	const struct call call = {context, c};

	(void)version;
	(void)body;
	if (!*request) {
		*request = &seen;
		return MHD_YES;
	}
	if (*body_bytes) {
		*body_bytes = 0;
		return MHD_YES;
	}
	enum MHD_Result result = answer_call(&call, path, method);
	/* A profile of many stacks comes and goes: what it took is not to stay. */
	(void)malloc_trim(0);
	return result;
}

struct endpoint *endpoint_open(const struct endpoint_options *options,
			       const struct endpoint_source *source, struct error *e)
{
	struct endpoint *p = mem_new(1, sizeof(*p));

	p->options = *options;
	p->source = source;
	pthread_mutex_init(&p->lock, NULL);
	p->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0,
		NULL, NULL, answer_request, p, MHD_OPTION_LISTEN_SOCKET, options->listener,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT,
		IDLE_SECONDS, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);
	if (p->daemon)
		return p;
	(void)error_set(e, "the server cannot be started");
	endpoint_close(p);
	return NULL;
}

void endpoint_close(struct endpoint *p)
{
	if (p->daemon)
		MHD_stop_daemon(p->daemon);
	else
		close(p->options.listener);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
