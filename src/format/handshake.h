/* handshake.h -- what target and collector say to each other before there is a segment. Pure
 * contract.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_FORMAT_HANDSHAKE_H
#define MIDDEN_FORMAT_HANDSHAKE_H

#include <stdint.h>

/* Over a stream socket: the target sends one hello, the collector answers with one welcome that
 * carries the segment's descriptor (SCM_RIGHTS) unless `refused`. Both ends then close. */
#define SEGMENT_HELLO_MAGIC UINT64_C(0x6f6c6c656864696d) /* "midhello" */

struct segment_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t machine; /* ELF e_machine of the library: another one than ours means qemu */
	int32_t pid;
	int32_t parent_pid;
	uint64_t address_space_limit; /* RLIMIT_AS, UINT64_MAX none */
	uint64_t start_monotonic_ns;
	uint32_t forked; /* 1: a fork child that goes on in the same image */
	uint32_t image;	 /* 1, and one more for each exec since; without a recorder, which counts */
	uint32_t mode; /* enum segment_mode, as its environment asks for; a recorder knows better */
	uint32_t reserved;
};

struct segment_welcome {
	uint64_t magic;
	uint32_t version;
	/* 1: do not record (not followed, shutting down); pass through silently */
	uint32_t refused;
	uint64_t total_bytes;
};

#endif
