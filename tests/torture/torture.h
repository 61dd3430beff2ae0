/* torture.h -- what the files of the torture program share.
 * Runs: inside the program that `make torture` records; tests/torture/run.py compares.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program does random things with its heap, all drawn from one seed, and keeps its own account
 * of them in a file that is mapped shared, so that it outlives any death. Every block comes from
 * one of SITES functions called torture_site_NN, which is how the account and a profile's stacks
 * are brought together; whatever libc and libstdc++ allocate has no such function on its stack. */
#ifndef MIDDEN_TESTS_TORTURE_H
#define MIDDEN_TESTS_TORTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ask.h"

#define SITES	     48u /* 0..15 the program's, 16..23 its C++ ones, 24.. the plugins' */
#define SITES_PLAIN  16u
#define SITE_CXX     16u
#define SITE_PLUGIN  24u
#define PLUGINS	     6u
#define PLUGIN_SITES 4u /* two that are asked, one of its constructor, one of its destructor */
#define IMAGES	     32u
#define THREADS_MOST 12

/* ---- account.c: the truth -------------------------------------------------------------------- */

/* What was begun and what is done. A call counts as begun before it is made and as done after it
 * came back: a process that dies in the middle leaves a difference, any other leaves none. */
struct count {
	_Atomic uint64_t begun, done;
};

struct site_account {
	struct count allocations, allocated_bytes, frees, freed_bytes, reallocations;
};

/* One program image: a process from its fork or exec to its end or next exec. */
struct image {
	_Atomic uint64_t pid;
	_Atomic uint64_t planned_end; /* exit status, or 256 + signal, or END_EXEC */
	struct count failed, foreign, children;
	struct count handled;	    /* handlers that allocated, wherever they came */
	_Atomic uint64_t surprises; /* children that did not end as planned */
	_Atomic uint64_t peak_bytes, peak_blocks, temporary; /* right in a calm image only */
	struct site_account site[SITES];
};

struct page {
	_Atomic uint64_t images_used;
	struct image image[IMAGES];
};

enum { END_EXEC = 1000, END_NOT_PLANNED = 1001 };

extern struct page *account_page;
extern struct image *account_image;

/* Maps the file and starts an image. False: cannot, or there are too many images already. */
bool account_open(const char *path);
/* For a fork child that there is to be, and then in it. False: there are too many. */
bool account_reserve_image(uint64_t *index);
void account_use_image(uint64_t index);
/* For an exec. */
bool account_has_room(void);

void account_begin(unsigned site, size_t bytes);
/* `block` is what came of it; NULL is a failure. */
void account_got(unsigned site, const void *block, size_t bytes);
void account_gone_begin(unsigned site, size_t bytes);
void account_gone_end(unsigned site, size_t bytes);
/* In a calm image: `block` is about to be given back. */
void account_note_temporary(const void *block);

static inline void count_begin(struct count *count, uint64_t by)
{
	atomic_fetch_add(&count->begun, by);
}

static inline void count_end(struct count *count, uint64_t by)
{
	atomic_fetch_add(&count->done, by);
}

/* ---- sites ----------------------------------------------------------------------------------- */

extern site_function *const sites_plain[SITES_PLAIN];

/* ---- chance ---------------------------------------------------------------------------------- */

struct chance {
	uint64_t state;
};

uint64_t chance_next(struct chance *chance);

static inline uint64_t chance_below(struct chance *chance, uint64_t limit)
{
	return chance_next(chance) % limit;
}

/* ---- one thread ------------------------------------------------------------------------------ */

struct worker {
	struct chance chance;
	struct chance in_handler; /* its own, so that a signal's moment does not change the rest */
	volatile int jumpable;	  /* a handler may leave by a jump */
	volatile int outside; /* not inside the allocator or the loader: a handler may allocate */
	volatile int depth;   /* of paths within paths */
	volatile int coroutines; /* that it is inside of */
	uint64_t spared;	 /* so that the compiler has something to keep in the frames */
};

void worker_set(struct worker *worker);

/* What the seed decided once for the whole image. */
struct habits {
	bool calm;     /* one thread, nothing that makes libc allocate */
	bool anywhere; /* the allocator may be entered from a handler at any time */
	bool jumping;  /* and be left from there by a jump */
	unsigned steps;
	unsigned generation; /* how many forks and execs lie before this image */
	const char *plugin_directory;
	const char *account_path;
	const char *other_self; /* another name of this program, for exec */
	uint64_t weights[16];	/* of torture.c's table of acts */
};

extern struct habits habits;
extern atomic_bool is_stopping;

/* ---- blocks.c: the blocks that live ---------------------------------------------------------- */

void blocks_open(void);
/* One random thing with one block: allocate, give back, resize, fail. */
void blocks_act(struct chance *chance);
/* Allocates at a plugin's site, through its function. */
void blocks_make(struct chance *chance, site_function *function, unsigned site);
void blocks_forget_all(void); /* a fork child: those of the parent are foreign now */

/* ---- paths.c: by what stack one gets there --------------------------------------------------- */

bool paths_open(void);
void paths_arm(struct worker *me); /* starts or stops a timer whose handler allocates */
void paths_disarm(void);

/* ---- plugins.c, processes.c, threads.c ------------------------------------------------------- */

void plugins_act(struct worker *me);

void processes_lock(void);
void processes_unlock(void);
void processes_fork(struct worker *me);
void processes_spawn(struct worker *me);
void processes_wait_all(void);
/* Ends the process in a random way. */
_Noreturn void processes_end(struct worker *me);

bool threads_open(void);
void threads_start(struct worker *me);
void threads_wait_all(void);
void threads_forget_all(void);

/* torture.c: says what is wrong with the program itself, and ends it. */
_Noreturn void torture_die(const char *what);
/* So many random acts. */
void torture_steps(struct worker *me, unsigned steps);

#endif
