/* microhttpd.c -- libmicrohttpd, loaded when a server is started.
 * Runs: wherever there is a server. Called by server.c and endpoint.c as if it were linked.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library brings others for encrypted connections, which we do not have; to load and relocate
 * them all takes 5 million instructions. Every other command, and the start of every recorded
 * program, would wait for that. */
#include <microhttpd.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static struct {
	struct MHD_Daemon *(*start_daemon)(unsigned int, uint16_t, MHD_AcceptPolicyCallback, void *,
					   MHD_AccessHandlerCallback, void *, va_list);
	void (*stop_daemon)(struct MHD_Daemon *);
	struct MHD_Response *(*create)(size_t, void *, enum MHD_ResponseMemoryMode);
	void (*destroy)(struct MHD_Response *);
	enum MHD_Result (*add_header)(struct MHD_Response *, const char *, const char *);
	enum MHD_Result (*queue)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
	const char *(*look_up)(struct MHD_Connection *, enum MHD_ValueKind, const char *);
} library;

static bool find(void *handle, void *place, const char *name)
{
	void *function = dlsym(handle, name);

	memcpy(place, &function, sizeof(function));
	return function != NULL;
}

/* Stays loaded. */
static bool load(void)
{
	void *handle = dlopen(MICROHTTPD_SONAME, RTLD_NOW | RTLD_LOCAL);

	return handle && find(handle, &library.start_daemon, "MHD_start_daemon_va") &&
	       find(handle, &library.stop_daemon, "MHD_stop_daemon") &&
	       find(handle, &library.create, "MHD_create_response_from_buffer") &&
	       find(handle, &library.destroy, "MHD_destroy_response") &&
	       find(handle, &library.add_header, "MHD_add_response_header") &&
	       find(handle, &library.queue, "MHD_queue_response") &&
	       find(handle, &library.look_up, "MHD_lookup_connection_value");
}

/* NULL also where the library is not installed. The others need what this returns. */
struct MHD_Daemon *MHD_start_daemon(unsigned int flags, uint16_t port, MHD_AcceptPolicyCallback apc,
				    void *apc_cls, MHD_AccessHandlerCallback dh, void *dh_cls, ...)
{
	struct MHD_Daemon *daemon;
	va_list options;

	if (!load())
		return NULL;
	va_start(options, dh_cls);
	daemon = library.start_daemon(flags, port, apc, apc_cls, dh, dh_cls, options);
	va_end(options);
	return daemon;
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
	library.stop_daemon(daemon);
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
						     enum MHD_ResponseMemoryMode mode)
{
	return library.create(size, buffer, mode);
}

void MHD_destroy_response(struct MHD_Response *response)
{
	library.destroy(response);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *header,
					const char *content)
{
	return library.add_header(response, header, content);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status_code,
				   struct MHD_Response *response)
{
	return library.queue(connection, status_code, response);
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
					const char *key)
{
	return library.look_up(connection, kind, key);
}
