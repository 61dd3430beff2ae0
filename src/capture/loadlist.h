/* loadlist.h -- the loaded objects, as the loader lists them for debuggers.
 * Runs: any thread of the target, inside malloc. Called by modules.c where there is no
 * _dl_find_object (glibc < 2.35, musl), and by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list is read without the loader's lock, which a thread may hold that waits for us: each
 * element by way of the kernel (peek.h), so that one which is going away does no harm. */
#ifndef MIDDEN_CAPTURE_LOADLIST_H
#define MIDDEN_CAPTURE_LOADLIST_H

#include <stdbool.h>
#include <stdint.h>

/* An object as the loader describes it. */
struct loaded {
	uint64_t map_start;
	uint64_t map_end;
	uint64_t map;	       /* its struct link_map */
	uint64_t eh_frame_hdr; /* 0: none */
};

/* Finds the list. False: there is none. */
bool loadlist_init(void);

/* The object that holds `address`, as of `generation` (modules.h). Objects that came since the last
 * look are found too. False: none. */
bool loadlist_find(uint64_t address, uint32_t generation, struct loaded *object);

/* An address in the first object whose file's name begins so; 0: there is none. */
uint64_t loadlist_find_named(const char *name);

/* Some address in the loader; 0 if it is not known. */
uint64_t loadlist_loader(void);

#endif
