/* fuzz_requests.c -- what may come in over the sockets of a recording: hellos of programs, and
 * requests for snapshots and profiles.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of packets, each {u8 bytes, ...}. Bit 7 of the length puts the magic number
 * of a request, and bit 6 that of a hello, before them. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/control.h"
#include "cli/recording.h"
#include "collect/segment_map.h"
#include "profile/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define PACKETS_MOST  64u
#define PACKET_BYTES  512u
#define IS_REQUEST    0x80u
#define IS_HELLO      0x40u
#define REQUEST_BYTES 112u

static struct control_listeners listeners = {.fds = {-1, -1}};

static struct collector *new_collector(void)
{
	struct collect_config config = {.buffer_bytes = 1 << 20};
	struct segment_hello hello = {.pid = getpid(), .address_space_limit = 96 << 20};
	struct error e = {0};
	struct collector *c = collect_new(&config, &hello, &e);

	if (!c)
		abort();
	return c;
}

/* A packet from the input: its length, what is before it, and zeroes up to the length of what it
 * says it is, unless bit 5 cuts it short. */
static size_t take_packet(struct cursor *c, char packet[PACKET_BYTES], uint8_t *how)
{
	static const char request[] = "midsnp04";
	const uint64_t hello = SEGMENT_HELLO_MAGIC;
	size_t used = 0;

	*how = *(const uint8_t *)cursor_take_bytes(c, 1);
	size_t length = *how & 0x1f ? (*how & 0x1f) * 4u : 0;
	if (length > cursor_get_left(c))
		length = cursor_get_left(c);
	memset(packet, 0, PACKET_BYTES);
	if (*how & IS_REQUEST)
		memcpy(packet, request, used = 8);
	else if (*how & IS_HELLO)
		memcpy(packet, &hello, used = 8);
	memcpy(packet + used, cursor_take_bytes(c, length), length);
	if (*how & 0x20)
		return used + length;
	return *how & IS_REQUEST ? REQUEST_BYTES : sizeof(struct segment_hello);
}

/* Called in a copy of this process, which ends then. */
static struct profile *build_copy(void *collector, bool brief)
{
	return brief ? collect_build_brief(collector) : collect_build_profile(collector);
}

static void ask(struct collector *c, const char *packet, size_t bytes)
{
	struct control_duty duty = {.collector = c, .build = build_copy, .context = c};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			      "midden-recording-%d", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0)
		abort();
	(void)send(fd, packet, bytes, MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
	control_serve(&listeners, &duty);
	(void)close(fd);
	while (offshoot_is_busy(&duty.offshoot))
		(void)usleep(100);
}

static void say_hello(const char *packet, size_t bytes)
{
	struct segment_hello hello;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
	    send(ends[0], packet, bytes, MSG_DONTWAIT) != (ssize_t)bytes)
		abort();
	(void)shutdown(ends[0], SHUT_WR);
	if (recording_take_hello(ends[1], &hello) == 0) {
		struct segment_layout layout;
		uint64_t buffer = 1 << 20;
		struct error e = {0};

		(void)segment_map_plan(&layout, &buffer, hello.address_space_limit, &e);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void build(struct collector *c)
{
	struct profile *p = collect_build_profile(c);
	struct error e = {0};

	if (profile_check(p, &e))
		abort();
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cursor c = cursor_init(data, bytes);
	struct collector *collector = new_collector();

	listeners.pids[0] = getpid();
	control_open(&listeners);
	if (listeners.fds[0] < 0)
		abort();
	for (unsigned i = 0; i < PACKETS_MOST && cursor_get_left(&c); i++) {
		char packet[PACKET_BYTES];
		uint8_t how;
		size_t length = take_packet(&c, packet, &how);

		if (how & IS_REQUEST)
			ask(collector, packet, length);
		else
			say_hello(packet, length);
	}
	build(collector);
	collect_free(collector);
	return 0;
}
