/* segment.h -- the shared memory between the profiled process and the collector. Pure contract:
 * layout, states and record encodings; no I/O, no allocation, no state.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector creates the segment (a sealed memfd), fills in the header and hands the
 * descriptor to the target, which maps it and closes the descriptor. From then on:
 *
 *   target     writes events into chunks, interns stacks as nodes, registers modules and threads;
 *   collector  reads them, returns drained chunks and retired slots, beats its heart.
 *
 * The collector treats everything the target wrote as hostile: it computes all offsets from its
 * own copy of the layout and checks every index before use.
 *
 *   +--------+-------+---------+---------+-------+--------+-------+-------+------+-----+--------+
 *   | header | slots | modules | strings | named | places | roots | nodes | tags |names| chunks |
 *   +--------+-------+---------+---------+-------+--------+-------+-------+------+-----+--------+
 *                                                                     (page aligned, sparse)
 *
 * A frame of a stack is a piece of code at an address (a place), or a named frame: one that has no
 * address of its own, whose name, file and line the target itself says (an interpreter's function,
 * a tag). Both are nodes of the same tree; the flag SEGMENT_NODE_NAMED tells them apart. Another
 * kind of named frame needs an entry in enum segment_named_kind and a word for it in the model
 * (display_named_module), nothing else. */
#ifndef MIDDEN_FORMAT_SEGMENT_H
#define MIDDEN_FORMAT_SEGMENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "format/comeback.h"
#include "format/handshake.h"
#include "format/interpreter.h"
#include "format/mapcalls.h"

#define SEGMENT_MAGIC	UINT64_C(0x31306e656464696d) /* "midden01" */
#define SEGMENT_VERSION 16u			     /* raised with any change of this file */
#define SEGMENT_ALIGN	UINT64_C(65536)		     /* the largest page size in use on aarch64 */

/* Index 0 is "none" for slots, nodes, places, named frames, modules and chunks alike, so that
 * zeroed memory is valid. */

/* ---- sizes ----------------------------------------------------------------------------------- */

#define SEGMENT_CHUNK_BYTES   16384u /* 680 allocations: a refill per ~50 us of pure malloc */
#define SEGMENT_CHUNK_PAYLOAD (SEGMENT_CHUNK_BYTES - 64u)
#define SEGMENT_ROOT_COUNT    262144u /* chains of nodes: 1 MiB, touched as used */
#define SEGMENT_PLACE_ROOTS   16384u  /* chains of places: 64 KiB */
#define SEGMENT_TEXT_ROOTS    16384u  /* chains of texts: 64 KiB */
#define SEGMENT_NAMED_ROOTS   16384u  /* chains of named frames: 64 KiB */
#define SEGMENT_TEXT_MAX      4095u   /* bytes of a text; a longer one is cut */
#define SEGMENT_NAME_BYTES    16u     /* TASK_COMM_LEN */
#define SEGMENT_BUILD_ID_MAX  32u
#define SEGMENT_SIGNALS	      16u /* that may come before the collector has seen to the first */

struct segment_layout {
	uint64_t total_bytes;
	uint64_t slots_offset;
	uint64_t modules_offset;
	uint64_t strings_offset;
	uint64_t text_roots_offset;
	uint64_t named_roots_offset;
	uint64_t named_offset;
	uint64_t place_roots_offset;
	uint64_t places_offset;
	uint64_t roots_offset;
	uint64_t nodes_offset;
	uint64_t tags_offset;
	uint64_t tag_text_offset;
	uint64_t chunks_offset;
	uint32_t slot_count; /* counts include the unused index 0 */
	uint32_t module_count;
	uint32_t string_bytes;
	uint32_t named_count;
	uint32_t place_count;
	uint32_t node_count;
	uint32_t tag_count;
	uint32_t tag_text_bytes;
	uint32_t chunk_count;
};

/* ---- header ---------------------------------------------------------------------------------- */

enum segment_clock {
	SEGMENT_CLOCK_MONOTONIC = 0, /* clock_gettime(CLOCK_MONOTONIC), in ns */
	SEGMENT_CLOCK_COUNTER = 1,   /* rdtsc / cntvct_el0, invariant and synchronised */
};

enum segment_target_state {
	SEGMENT_TARGET_STARTING = 0,
	SEGMENT_TARGET_RECORDING = 1,
	/* the collector did not answer in time: recording ended early */
	SEGMENT_TARGET_ABANDONED = 2,
	/* in exit(), and waits for the profile: the end of process 1 takes its collector along */
	SEGMENT_TARGET_ENDED = 3,
};

#define SEGMENT_EXITED 0x100u

enum segment_mode {
	SEGMENT_MODE_EXACT = 0, /* every call is an event */
	/* a block of n bytes is, with probability 1 - exp(-(n+1)/period) */
	SEGMENT_MODE_SAMPLE = 1,
	SEGMENT_MODE_TAGS = 2, /* none is: counters by tag */
};

#define SEGMENT_PERIOD_MAX (UINT64_C(1) << 40)

/* Losses are per slot where a thread has one, here where it has none. */
struct segment_losses {
	_Atomic uint64_t lost_events;	   /* not recorded: no slot, no chunk, abandoned */
	_Atomic uint64_t truncated_stacks; /* cut at max_depth or where the walk could not go on */
	_Atomic uint64_t reentrant_calls;  /* from a signal handler inside a hook: passed through */
	_Atomic uint64_t failed_allocations;
	/* the part of truncated_stacks due to missing unwind data */
	_Atomic uint64_t unwind_failures;
};

/* What went wrong with tags; all rare. */
struct segment_tag_losses {
	_Atomic uint64_t lost_pushes;	 /* no room for the tag: counted at the one around it */
	_Atomic uint64_t unmatched_pops; /* no tag was there to leave */
	_Atomic uint64_t skipped_pops;	 /* tags left all at once because one around them was */
	_Atomic uint64_t stale_handles;	 /* of another process, or of none */
	_Atomic uint64_t inherited;	 /* tags that a fork child was born inside of */
};

/* Memory that the allocator gets from the system through functions that we stand in for: libc's own
 * does not. Apart from the program's, and without stacks. */
struct segment_own_maps {
	_Atomic uint64_t calls;
	_Atomic uint64_t mapped_bytes;
	_Atomic uint64_t unmapped_bytes;
};

struct segment_header {
	/* Written by the collector before the target sees the segment, then constant. */
	uint64_t magic;
	uint32_t version;
	uint32_t clock; /* enum segment_clock */
	struct segment_layout layout;
	uint64_t clock_base; /* ticks of the chosen clock that event time 0 stands for */
	uint32_t max_depth;
	uint32_t follow;      /* children are recorded too */
	uint32_t patience_ms; /* how long a full buffer may wait for a silent collector */
	int32_t collector_pid;
	uint32_t python;	  /* enum segment_python */
	uint32_t snapshot_signal; /* its handler fills `signal_ticks`; 0: none is taken */
	uint32_t delayed;	  /* nothing is recorded until the program switches it on */
	uint32_t mode;		  /* enum segment_mode */
	uint32_t sample_blocks;	  /* sampled blocks alive beyond which the period doubles */
	uint64_t sample_period;	  /* mean bytes from one sample to the next, 1 to PERIOD_MAX */
	uint64_t sample_seed;	  /* of the threads' generators, together with their serials */
	uint32_t farewell;	  /* the program waits in exit(): see SEGMENT_ORDER_FAREWELL */

	/* Written by the collector while it runs. */
	_Alignas(128) _Atomic uint64_t heartbeat; /* changes at least every 100 ms */
	_Atomic uint32_t sleeping;    /* 1: collector waits on this word (futex), wake it */
	_Atomic uint32_t freed;	      /* counts returned chunks; full targets wait on it (futex) */
	_Atomic uint32_t waiting;     /* 1: a target waits on `freed`; cleared when it is woken */
	_Atomic uint32_t chunk_limit; /* chunks the target may bring into use in all */
	/* marks handled: in tag mode, whoever made one waits for it (futex) */
	_Atomic uint32_t marks_handled;
	/* Events come fast: stamps of a lone thread may be rough. It looks all the time, and would
	 * fetch what is written above with every round from the other core. */
	_Alignas(128) _Atomic uint32_t hurried;

	/* Shared stacks of free indices: {tag:32, index:32}, tag changes with every push and pop
	 * (ABA). */
	_Alignas(128) _Atomic uint64_t free_chunks;
	_Alignas(128) _Atomic uint64_t free_slots;

	/* Written by the target. */
	_Alignas(128) _Atomic uint32_t target_state;
	_Atomic uint32_t slots_used; /* high-water marks: indices below are or were in use */
	_Atomic uint32_t modules_used;
	_Atomic uint32_t strings_used;
	_Atomic uint32_t chunks_used;
	_Atomic uint32_t next_serial; /* last thread serial given out */
	_Atomic uint32_t children;    /* child processes seen to start */
	_Atomic uint32_t exit_status; /* of exit(), plus SEGMENT_EXITED; 0: did not get there */
	_Atomic uint32_t foreign_allocator; /* the program brings a malloc that hides ours */
	_Atomic uint32_t reads_denied; /* the kernel reads no memory for us: see stackrange.c */
	_Atomic uint32_t places_used;
	_Atomic uint32_t named_used;
	_Atomic uint32_t texts_used; /* how many there are in `strings` */
	_Atomic uint32_t execs; /* begun and not failed: not 0 when the program is another by now */
	/* When signals came that ask for a snapshot: what is stamped earlier is in it. The target
	 * fills what is 0, the collector makes it 0 again when it has taken the snapshot. */
	_Atomic uint64_t signal_ticks[SEGMENT_SIGNALS];
	_Alignas(128) _Atomic uint32_t nodes_used;
	_Alignas(128) _Atomic uint32_t tags_used;
	_Atomic uint32_t tag_text_used;
	struct segment_tag_losses tag_losses;
	_Alignas(128) struct segment_losses losses;

	/* Of Python's allocator: `pymalloc` as the collector wants it, the rest by the target. */
	_Alignas(128) uint32_t pymalloc; /* enum segment_pymalloc */
	_Atomic uint32_t small;		 /* enum segment_small */
	_Atomic uint64_t arena_bytes;	 /* mapped for arenas, now and at most */
	_Atomic uint64_t arena_peak_bytes;
	/* Written by the collector before the target sees the segment. */
	uint32_t maps; /* calls that map memory are events too */
	/* What the allocator itself maps, by the target; all threads add to it. */
	_Alignas(128) struct segment_own_maps allocator_maps;
	/* For the look at what is lost: whether the program is to ask for it when it exits (written
	 * by the collector, constant); where the real malloc is, and where the library's own
	 * variables end (written by the target at its start). */
	uint32_t leaks;
	uint64_t real_malloc;
	uint64_t own_end;
	uint32_t looks; /* constant; who waits for one: 0 nobody, 1 exit, 2 ends of threads too */
	uint32_t enter_exit;	  /* constant; instrumented functions say that they are entered */
	_Atomic uint32_t entered; /* one has, says the target */
	struct comeback comeback; /* written by the target at its start */
};

/* ---- threads --------------------------------------------------------------------------------- */

enum segment_slot_state {
	SEGMENT_SLOT_FREE = 0,
	SEGMENT_SLOT_LIVE = 1,
	/* set by the target (release); the collector drains, then frees it */
	SEGMENT_SLOT_ENDED = 2,
};

/* What a thread can ask for: figures of the whole process or of the thread, as of the moment of the
 * question. In the order of struct midden_figures. */
enum segment_figure {
	SEGMENT_FIGURE_ALLOCATIONS = 0,
	SEGMENT_FIGURE_FREES,
	SEGMENT_FIGURE_ALLOCATED_BYTES,
	SEGMENT_FIGURE_FREED_BYTES,
	SEGMENT_FIGURE_LIVE_BYTES,
	SEGMENT_FIGURE_LIVE_BLOCKS,
	SEGMENT_FIGURE_PEAK_BYTES,
	SEGMENT_FIGURE_PEAK_BLOCKS,
	SEGMENT_FIGURE_TEMPORARY_ALLOCATIONS,
	SEGMENT_FIGURE_REALLOCATIONS,
	SEGMENT_FIGURE_FOREIGN_FREES,
	SEGMENT_FIGURE_UNTRACKED_FREES,
	SEGMENT_FIGURE_THREADS,
	SEGMENT_FIGURE_STACKS,
	SEGMENT_FIGURE_ELAPSED_NS,
	SEGMENT_FIGURES
};

/* Whose figures. */
enum segment_scope {
	SEGMENT_SCOPE_ALL = 0,
	SEGMENT_SCOPE_THREAD = 1,
	SEGMENT_SCOPE_POOL = 2,
};

/* What a thread has done in all, where not every call is an event; as of its last event or end. */
struct segment_totals {
	_Atomic uint64_t calls[8]; /* by enum segment_api; reallocations are among them */
	_Atomic uint64_t bytes;
	_Atomic uint64_t frees; /* that of a realloc too */
	_Atomic uint64_t reallocations;
};

/* The same as numbers in that order: in sampling mode the text of SWITCH and CLEAR. By the time
 * that the collector comes to such an order, the slot may show more. */
#define SEGMENT_TOTALS 11u

/* One per live thread. The target fills all fields and then sets `state` LIVE (release).
 * The collector retires an ENDED slot once drained: state FREE, then pushed on free_slots. */
struct segment_slot {
	_Alignas(128) _Atomic uint64_t head; /* stream position published; see "events" (release) */
	_Atomic uint32_t state;
	uint32_t first_chunk;
	uint32_t tid;
	/* unique in the process; a thread that comes back after its end keeps it */
	uint32_t serial;
	uint64_t start_ticks;
	_Atomic uint64_t end_ticks;
	uint64_t stack_high; /* one past the highest address of the thread's stack, 0 unknown */
	/* as of the last refill or the end; a torn read is harmless */
	char name[SEGMENT_NAME_BYTES];
	_Atomic uint32_t next_free;
	_Atomic uint32_t named;	      /* `name` is one that the program has given it: it holds */
	struct segment_losses losses; /* plain stores by the owner; the collector adds them up */
	struct segment_totals totals; /* so too */
	/* Written by the collector, for the thread that asks: the figures, whether what was asked
	 * for was done, and then the number of the question (release); the thread waits on that
	 * (futex). */
	_Alignas(128) uint64_t figures[SEGMENT_FIGURES];
	uint32_t done;
	_Atomic uint32_t answered;
};

/* ---- modules --------------------------------------------------------------------------------- */

/* A loaded object. Entries are append-only; a reload at the same place of the same file reuses its
 * entry, so ids are stable and a stack recorded before a dlclose still names the right file. */
struct segment_module {
	_Atomic uint32_t ready; /* 1 once all fields are set (release) */
	uint32_t path_offset;	/* in strings, NUL-terminated; empty path: the program itself */
	uint64_t bias;		/* run-time address minus ELF virtual address */
	uint64_t map_start;
	uint64_t map_end;
	uint64_t load_ticks;
	uint32_t build_id_bytes;
	uint8_t build_id[SEGMENT_BUILD_ID_MAX];
	uint32_t reserved[7];
};

/* ---- texts and named frames ------------------------------------------------------------------ */

/* Texts are NUL-terminated in `strings`, each once, and are named by the offset of their first
 * byte; 0 is the empty one. The four bytes before a text are the target's own: the text that comes
 * next in its chain from text_roots. */

enum segment_named_kind {
	SEGMENT_NAMED_NONE = 0,
	SEGMENT_NAMED_PYTHON = 1, /* a function of a Python program */
	SEGMENT_NAMED_TAG = 2,	  /* what the program itself says that it is doing */
	SEGMENT_NAMED_POOL = 3,	  /* the allocator of the program that a block is of */
	SEGMENT_NAMED_KINDS = 4,
	/* In the path of a SEGMENT_ORDER_DEEPEST alone: a place (`function`) and the bytes of its
	 * frame on the stack (`line`). */
	SEGMENT_NAMED_FRAME = 15
};

/* A frame that has a name and no address. Keyed by all fields but `next`, chained from named_roots;
 * constant once linked. */
struct segment_named {
	uint32_t kind;	   /* enum segment_named_kind */
	uint32_t function; /* text */
	uint32_t file;	   /* text; 0 none */
	uint32_t line;	   /* 0 none */
	uint32_t next;	   /* in the chain, 0: the last */
};

/* ---- stacks ---------------------------------------------------------------------------------- */

/* A piece of code that was executing: an address inside an instruction, of a call mostly. Keyed by
 * (address, module), chained from place_roots; constant once linked. */
struct segment_place {
	uint64_t address;
	uint64_t rule;	 /* the target's own: how to step out of a frame there (capture/rules.h) */
	uint32_t module; /* index into modules, 0 unknown (JIT) */
	uint32_t next;	 /* in the chain, 0: the last */
};

/* A frame below a parent frame: the stack is the path from a node to the root (0). Keyed by
 * (parent, place), filed by hash in chains below `roots`. A stack that is new in a program brings
 * about seven of these, so their size counts: places, which are few, are in a table of their own,
 * and a node's parent is the one before it in the table, as most are made one after another; the
 * slot before a node with the flag FAR holds the parent's index in place of `place`.
 * Constant once linked. */
struct segment_node {
	uint32_t place; /* index into places (with NAMED: named), 0 unknown; top bits: flags */
	_Atomic uint32_t next; /* the target's own: see capture/stacktree.c */
};

/* The address itself was executing (below a signal frame); else it is one less than a return
 * address. */
#define SEGMENT_NODE_EXACT	0x80000000u
#define SEGMENT_NODE_CUT	0x40000000u /* stands for frames left out of a too deep stack */
#define SEGMENT_NODE_NAMED	0x10000000u /* a named frame; never with EXACT or CUT */
#define SEGMENT_NODE_FAR	0x08000000u /* its parent is not the node before it */
#define SEGMENT_NODE_PLACE_MASK 0x00ffffffu

/* Of a node other than 0. */
static inline uint32_t segment_node_parent(const struct segment_node *nodes, uint32_t node)
{
	return nodes[node].place & SEGMENT_NODE_FAR ? nodes[node - 1].place : node - 1;
}

static inline uint32_t segment_node_place(const struct segment_node *nodes, uint32_t node)
{
	return nodes[node].place & ~SEGMENT_NODE_FAR;
}

/* ---- tags ------------------------------------------------------------------------------------ */

enum segment_api {
	SEGMENT_API_MALLOC = 0,
	SEGMENT_API_CALLOC = 1,
	SEGMENT_API_REALLOC = 2,
	SEGMENT_API_ALIGNED = 3,
	SEGMENT_API_NEW = 4,
	SEGMENT_API_OTHER = 5,
	SEGMENT_API_PYTHON = 6, /* a small object of Python's */
	SEGMENT_API_KINDS = 7
};

#define SEGMENT_TAG_APIS  6u /* those that tag mode counts */

#define SEGMENT_TAG_EXTRA 8u

/* What has been done inside a tag, tags inside it apart. Written by one thread, with plain stores;
 * anyone may read them at any time. A realloc of a block counts at its new size as allocated, at
 * its old one as freed. */
struct segment_tag_counts {
	uint64_t entered;
	uint64_t requested_bytes;
	/* The blocks' usable sizes and SEGMENT_TAG_EXTRA for each of them: what glibc's allocator
	 * has at hand. */
	uint64_t allocated_bytes;
	uint64_t freed_bytes; /* of the blocks that were freed here, wherever they are from */
	uint64_t frees;	      /* of blocks by free and its like ... */
	uint64_t resizes;     /* ... and by a realloc, which is among the calls too */
	uint64_t calls[SEGMENT_TAG_APIS];
};

/* A path of tags that a thread has been in: a tree per thread. Entries are append-only, a parent's
 * index is smaller than its child's. The children of a tag are filed in a binary trie by the hash
 * of their names, below `child`. */
struct segment_tag {
	struct segment_tag_counts counts;
	uint32_t parent;	 /* 0: none, this is what the thread does outside of all tags */
	_Atomic uint32_t serial; /* of the thread; set last (release) */
	uint32_t name;		 /* offset in tag names, NUL-terminated */
	uint32_t open;		 /* times entered and not left */
	/* The target's own: */
	uint32_t hash;
	uint32_t child;
	uint32_t link[2]; /* further children of the parent */
};

/* ---- events ---------------------------------------------------------------------------------- */

/* A chunk is a 64-byte head and SEGMENT_CHUNK_PAYLOAD bytes of events. A thread's stream is the
 * payloads of its chunks one after another; position P is in its P / PAYLOAD-th chunk. An event
 * never straddles: when fewer than SEGMENT_EVENT_MAX bytes are left in a payload, the stream
 * continues at the start of the next chunk. The producer sets `next` before `head` passes the
 * boundary. */
struct segment_chunk {
	_Atomic uint32_t next;	    /* following chunk of the same stream */
	_Atomic uint32_t next_free; /* link in free_chunks */
	uint32_t reserved[14];
	uint64_t words[SEGMENT_CHUNK_PAYLOAD / 8];
};

#define SEGMENT_EVENT_MAX 32u

/* word 0 of every event: ticks since clock_base << 8 | api << 4 | kind */
enum segment_event {
	SEGMENT_EVENT_NONE = 0, /* never published: a reader that sees it stops and counts */
	/* ptr, size:32 << 32 | node:32 -- 24 bytes */
	SEGMENT_EVENT_ALLOC = 1,
	/* ptr, node, size:64 -- 32 bytes */
	SEGMENT_EVENT_ALLOC_BIG = 2,
	/* ptr; stamped and published before the block is given back -- 16 bytes */
	SEGMENT_EVENT_FREE = 3,
	/* ptr; a realloc of it starts: takes it off the table -- 16 bytes */
	SEGMENT_EVENT_RESIZE = 4,
	/* as ALLOC, ALLOC_BIG: the realloc succeeded with this block -- 24, 32 bytes */
	SEGMENT_EVENT_RESIZED = 5,
	SEGMENT_EVENT_RESIZED_BIG = 6,
	/* the old block stays as it was -- 8 bytes */
	SEGMENT_EVENT_RESIZE_FAILED = 7,
	/* realloc(p, 0) freed it -- 8 bytes */
	SEGMENT_EVENT_RESIZE_FREED = 8,
	/* the first bytes of a name, more to come -- 32 bytes */
	SEGMENT_EVENT_NAME = 9,
	/* the rest of the name, zeroes behind it: keep what is live now -- 32 bytes */
	SEGMENT_EVENT_MARK = 10,
	/* what the program wants of the recorder; enum segment_order where the api is else, and
	   three words that depend on it -- 32 bytes */
	SEGMENT_EVENT_ORDER = 11,
	/* period: of all samples of this thread from here on -- 16 bytes */
	SEGMENT_EVENT_PERIOD = 13,
	/* ptr, period: a sampled block is one no more (api DROPPED), or is one of this period
	 * (api KEPT): nothing happens to the block itself -- 24 bytes */
	SEGMENT_EVENT_THINNED = 14,
	/* address, bytes, kind:32 << 32 | node:32: memory that the program itself maps; enum
	   segment_map_call where the api is else -- 32 bytes */
	SEGMENT_EVENT_MAP = 15,
	SEGMENT_EVENT_KINDS = 16
};

/* Those that take a text have it in NAME events before them. A question is a number that is not 0
 * and that no other thread uses; its answer comes in the slot. */
#define SEGMENT_REGISTERS 33u /* of a frame, on any architecture */
enum segment_order {
	/* off (1) or on (0), enum segment_scope */
	SEGMENT_ORDER_SWITCH = 0,
	/* figures start over: as if all that is live had been allocated now */
	SEGMENT_ORDER_CLEAR = 1,
	/* question, enum segment_scope, pool */
	SEGMENT_ORDER_ASK = 2,
	/* question; text: path of a file for the profile so far */
	SEGMENT_ORDER_WRITE = 3,
	/* bytes << 1 | at_most: which blocks have a stack; 0: all */
	SEGMENT_ORDER_THRESHOLD = 4,
	/* address, bytes: memory that the program's own allocator cuts up; a block that is there is
	   no longer counted */
	SEGMENT_ORDER_POOL_OPEN = 5,
	/* address: no longer; all blocks inside are gone, the one that was there counts again */
	SEGMENT_ORDER_POOL_CLOSE = 6,
	/* question, stack, registers: which blocks are lost? The program's own part of the thread's
	   stack begins at `stack`; before that, at `registers`, are the SEGMENT_REGISTERS words
	   that it has in them; 0: it is not known */
	SEGMENT_ORDER_LEAKS = 7,
	/* question: the program ends, and waits for its memory to be looked at */
	SEGMENT_ORDER_FAREWELL = 8,
	/* question, all: the stack of the thread, or all that is not heap, is to be looked at */
	SEGMENT_ORDER_LOOK = 9,
	/* node of FRAMEs, bytes: the stack of the thread when it was deepest so far */
	SEGMENT_ORDER_DEEPEST = 10,
	SEGMENT_ORDER_KINDS = 11
};

/* In place of the api, of THINNED ... */
#define SEGMENT_THINNED_DROPPED 0u
#define SEGMENT_THINNED_KEPT	1u
/* ... and of FREE, where not every call is an event: the thread has allocated nothing since. */
#define SEGMENT_FREE_TEMPORARY 1u
/* Or, and of RESIZE too: a small object of Python's, maybe from before the recording. */
#define SEGMENT_FREE_PYTHON   2u

#define SEGMENT_MARK_PIECE    24u /* bytes of a name in one event */
#define SEGMENT_MARK_NAME_MAX 95u

#define SEGMENT_TICKS_MASK    ((UINT64_C(1) << 56) - 1)

/* Bytes of an event by kind; 0 for what is not an event. */
static inline uint32_t segment_event_bytes(uint32_t kind)
{
	static const uint8_t bytes[16] = {0, 24, 32, 16, 16, 24, 32, 8,
					  8, 32, 32, 32, 0,  16, 24, 32};

	return bytes[kind & 15u];
}

/* Switches and the threshold are kept as stamp << 1 | off, and the latest holds: so all threads and
 * the collector come to the same end in whatever order they learn of them. */
static inline uint64_t segment_switch_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int segment_switch_is_off(uint64_t word)
{
	return (int)(word & 1);
}

/* Whether a block of this size is kept without its stack. `threshold` as in ORDER_THRESHOLD. */
static inline int segment_is_stackless(uint64_t threshold, uint64_t bytes)
{
	return threshold & 1 ? bytes > threshold >> 1 : bytes < threshold >> 1;
}

/* ---- layout arithmetic ----------------------------------------------------------------------- */

static inline uint64_t segment_round(uint64_t bytes)
{
	return (bytes + SEGMENT_ALIGN - 1) & ~(SEGMENT_ALIGN - 1);
}

/* Fills in the offsets from the counts. */
static inline void segment_layout_build(struct segment_layout *l)
{
	l->slots_offset = segment_round(sizeof(struct segment_header));
	l->modules_offset =
		l->slots_offset + segment_round(l->slot_count * sizeof(struct segment_slot));
	l->strings_offset =
		l->modules_offset + segment_round(l->module_count * sizeof(struct segment_module));
	l->text_roots_offset = l->strings_offset + segment_round(l->string_bytes);
	l->named_roots_offset =
		l->text_roots_offset + segment_round(SEGMENT_TEXT_ROOTS * sizeof(uint32_t));
	l->named_offset =
		l->named_roots_offset + segment_round(SEGMENT_NAMED_ROOTS * sizeof(uint32_t));
	l->place_roots_offset =
		l->named_offset + segment_round(l->named_count * sizeof(struct segment_named));
	l->places_offset =
		l->place_roots_offset + segment_round(SEGMENT_PLACE_ROOTS * sizeof(uint32_t));
	l->roots_offset =
		l->places_offset + segment_round(l->place_count * sizeof(struct segment_place));
	l->nodes_offset = l->roots_offset + segment_round(SEGMENT_ROOT_COUNT * sizeof(uint32_t));
	l->tags_offset =
		l->nodes_offset + segment_round(l->node_count * sizeof(struct segment_node));
	l->tag_text_offset =
		l->tags_offset + segment_round(l->tag_count * sizeof(struct segment_tag));
	l->chunks_offset = l->tag_text_offset + segment_round(l->tag_text_bytes);
	l->total_bytes = l->chunks_offset + (uint64_t)l->chunk_count * sizeof(struct segment_chunk);
	l->total_bytes = segment_round(l->total_bytes);
}

_Static_assert(sizeof(struct segment_node) == 8, "nodes are 8 bytes: eight per cache line");
_Static_assert(sizeof(struct segment_tag) == 128, "two cache lines, not shared with another");
_Static_assert(sizeof(struct segment_chunk) == SEGMENT_CHUNK_BYTES, "chunk size");
_Static_assert(SEGMENT_CHUNK_PAYLOAD % 8 == 0, "payload is whole words");
_Static_assert(sizeof(struct segment_slot) % 128 == 0, "no false sharing between slots");

#endif
