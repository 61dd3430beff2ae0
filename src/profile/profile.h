/* profile.h -- a profile in memory: what the collector makes, the file holds and the model reads.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything is plain data in arrays; references are indices. Index 0 of `modules`, `nodes` and
 * `frames` and offset 0 of `strings` mean "none" (an element is there, zeroed; strings starts with
 * a NUL byte). Times are ns since the start of recording unless said otherwise; bytes are requested
 * bytes. */
#ifndef MIDDEN_PROFILE_PROFILE_H
#define MIDDEN_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

#define PROFILE_SIZE_BUCKETS 65 /* [0] size 0, [i] 2^(i-1) <= size < 2^i */
#define PROFILE_LIFE_BUCKETS 65 /* the same on ns */
#define PROFILE_APIS	     8	/* at least SEGMENT_API_KINDS */

/* The functions by which blocks are made; the collector's, enum segment_api. */
enum profile_api {
	PROFILE_API_MALLOC = 0,
	PROFILE_API_CALLOC = 1,
	PROFILE_API_REALLOC = 2,
	PROFILE_API_ALIGNED = 3,
	PROFILE_API_NEW = 4,
	PROFILE_API_OTHER = 5,
	PROFILE_API_PYTHON = 6, /* small objects of Python's own allocator */
};

/* Offset of a NUL-terminated string in profile.strings; 0 is "". */
struct string_id {
	uint32_t v;
};

enum profile_end {
	PROFILE_END_UNKNOWN = 0,
	PROFILE_END_EXITED = 1,	   /* exit_code holds */
	PROFILE_END_SIGNALED = 2,  /* exit_signal holds */
	PROFILE_END_EXEC = 3,	   /* replaced itself by another program */
	PROFILE_END_ABANDONED = 4, /* the recording ended before the program did */
};

enum profile_merge {
	PROFILE_MERGE_NONE = 0, /* one recording */
	PROFILE_MERGE_SUM = 1,
	PROFILE_MERGE_MAX = 2,
	PROFILE_MERGE_MEAN = 3,
};

/* Which blocks were sampled, if any were. */
enum profile_sampled {
	PROFILE_SAMPLED_ALL = 0,
	PROFILE_SAMPLED_SMALL = 1, /* small objects of Python; all other blocks were recorded */
};

/* What is known of the small objects that Python cuts out of its arenas. */
enum profile_small {
	PROFILE_SMALL_NONE = 0, /* there are none, or they were left alone */
	PROFILE_SMALL_SAMPLED = 1,
	PROFILE_SMALL_EXACT = 2,
	PROFILE_SMALL_MALLOC = 3, /* Python had them from malloc */
	PROFILE_SMALL_UNSEEN = 4, /* it has an allocator that cannot be watched */
};

struct profile_run {
	struct string_id program;    /* base name */
	struct string_id executable; /* full path */
	struct string_id command;    /* arguments, shell-quoted, joined by spaces */
	struct string_id directory;
	struct string_id host;
	struct string_id mode;	  /* "exact", "sample" */
	struct string_id machine; /* "x86_64", "aarch64" */
	struct string_id version; /* of midden that recorded */
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	uint64_t page_bytes;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t end;	     /* enum profile_end */
	int32_t exit_code;   /* -1 unknown */
	int32_t exit_signal; /* 0 none */
	uint32_t children_not_recorded;
	/* The trace's clock: so many ticks in so many ns; 0: it has none, a tick is a ns. */
	uint64_t clock_ticks;
	uint64_t clock_ns;
	/* The longest period that blocks were sampled with, in bytes; 0: all were recorded. Then
	 * figures of sites and shares, and what was live at a time, are estimates. */
	uint64_t sample_period;
	uint32_t sampled_blocks; /* enum profile_sampled: which ones they were */
	uint32_t small_objects;	 /* enum profile_small */
	uint32_t merge;		 /* enum profile_merge: how `inputs` became this */
	uint64_t cleared_ns;	 /* when the program had figures start over, 0 never */
	uint64_t stopped_ns;	 /* for how long it had recording stopped since then */
	uint32_t rank;		 /* of a parallel program, plus one; 0: it is none */
	uint32_t ranks;		 /* how many that has; 0: not known */
	/* The look at what is lost: `lost` and `links` are as of then. */
	uint32_t lost_flags; /* enum profile_lost_flags; 0: there was none */
	uint64_t lost_time_ns;
	uint64_t lost_pause_ns;	  /* for which the program was stopped, in all */
	uint64_t lost_read_bytes; /* of its memory */
	uint64_t lost_unread_bytes;
	/* The look at loaded objects: `extents` are as of then. 0: there was none. */
	uint64_t globals_time_ns;
	uint32_t globals_threads; /* that there were at most at once, as far as is known */
};

struct profile_totals {
	uint64_t allocations;
	uint64_t frees;
	uint64_t allocated_bytes;
	uint64_t freed_bytes;
	uint64_t peak_bytes;
	uint64_t peak_blocks; /* at the moment of peak_bytes */
	uint64_t peak_time_ns;
	uint64_t leaked_bytes;
	uint64_t leaked_blocks;
	uint64_t temporary_allocations;
	uint64_t reallocations;
	uint64_t failed_allocations;
	uint64_t threads;
	uint64_t stacks; /* distinct allocating stacks = sites */
	uint64_t rss_peak_bytes;
	uint64_t own_memory_bytes; /* midden's memory inside the target: resident pages of the
				      segment + private */
	/* losses */
	uint64_t lost_events;
	uint64_t truncated_stacks;
	uint64_t unwind_failures;
	uint64_t foreign_frees;
	uint64_t reentrant_calls;
	uint64_t trace_lost_events; /* that could not be written to the trace */
	uint64_t lost_snapshots;    /* that there was no room for */
	uint64_t untracked_frees;   /* of blocks made while recording was stopped */
	/* of tags: pushes that found no room, pops of nothing, pops that were left out, handles
	 * that were no longer good, tags that the process was forked inside of */
	uint64_t lost_tags;
	uint64_t unmatched_tag_pops;
	uint64_t skipped_tag_pops;
	uint64_t stale_tag_handles;
	uint64_t inherited_tags;
	uint64_t api_calls[PROFILE_APIS]; /* by enum profile_api: allocations per entry point */
	/* Small objects of Python, at the end and at most; and the arenas that they live in. */
	uint64_t arena_bytes;
	uint64_t arena_peak_bytes;
	uint64_t small_bytes;
	uint64_t small_peak_bytes;
};

/* What the program has mapped itself; the collector's, enum segment_map_kind, and one more. */
enum profile_map {
	PROFILE_MAP_ANONYMOUS = 0,
	PROFILE_MAP_FILE = 1,
	PROFILE_MAP_RESERVED = 2,  /* PROT_NONE */
	PROFILE_MAP_SHARED = 3,	   /* shmat */
	PROFILE_MAP_BREAK = 4,	   /* brk, sbrk */
	PROFILE_MAP_ALLOCATOR = 5, /* by the allocator, as far as that can be seen: in no total */
	PROFILE_MAP_KINDS = 6
};

/* One of the recordings that a merged profile was made of. */
struct profile_input {
	struct string_id name; /* the file, as it was named */
	struct string_id program;
	struct string_id command;
	struct string_id host;
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	uint32_t pid, parent_pid;
	uint32_t end; /* enum profile_end */
	int32_t exit_code;
	int32_t exit_signal;
	uint32_t rank;	     /* plus one; 0: it is none */
	uint32_t lost_flags; /* enum profile_lost_flags; 0: nobody looked, or it is not known */
	struct profile_totals totals;
};

struct profile_module {
	struct string_id path;
	uint64_t bias; /* run-time address - bias = ELF virtual address */
	uint64_t map_start;
	uint64_t map_end;
	uint64_t load_time_ns;
	uint32_t build_id_bytes; /* at most 32 */
	uint8_t build_id[32];
};

/* What a frame is that has no address: its name is what the program itself said. */
enum profile_named {
	PROFILE_NAMED_NONE = 0, /* it has an address */
	PROFILE_NAMED_PYTHON = 1,
	PROFILE_NAMED_TAG = 2,
	PROFILE_NAMED_POOL = 3,
};

/* One frame of a stack; the stack is the path to the root. A parent's index is smaller than its
 * child's. */
struct profile_node {
	uint64_t pc; /* run-time address; a return address unless `exact` */
	uint32_t parent;
	uint32_t module;
	uint32_t frames; /* symbols: index of the innermost (most inlined) frame; 0 not resolved */
	/* enum profile_named: `frames` is its name, as the program said it; pc and module are 0 */
	uint32_t named;
	bool exact;
	bool cut; /* stands for frames that were left out */
};

/* A symbolised location. Inlined frames chain outwards: `next` is the frame it was inlined into.
 * Its index is smaller (outer frames are added first), so chains end, can be shared, and survive a
 * file cut off behind. */
struct profile_frame {
	struct string_id function; /* demangled; "" unknown */
	struct string_id file;
	uint32_t line;
	uint32_t next; /* 0: this is the outermost, the real function */
};

/* The standard deviation of an estimate; 0 where blocks were not sampled. */
struct profile_doubt {
	uint64_t bytes;
	uint64_t milliblocks; /* thousandths of a block */
};

/* All allocations made by one stack. */
struct profile_site {
	uint32_t node;
	uint32_t thread; /* serial of the only thread that allocated here; 0: several, whose
			    shares are in `parts`, or not recorded */
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t size_min; /* UINT64_MAX if allocations == 0 */
	uint64_t size_max;
	uint64_t live_blocks; /* at the end: leaked */
	uint64_t live_bytes;
	uint64_t at_peak_blocks;
	uint64_t at_peak_bytes;
	uint64_t own_peak_bytes; /* the most this site ever held */
	uint64_t own_peak_time_ns;
	uint64_t lifetime_min_ns; /* over its freed blocks; UINT64_MAX if frees == 0 */
	uint64_t lifetime_max_ns;
	uint64_t lifetime_sum_ns;
	uint64_t temporary;
	uint64_t reallocations; /* allocations that came from a realloc of an existing block */
	struct profile_doubt allocated_doubt;
	struct profile_doubt live_doubt;
	struct profile_doubt at_peak_doubt;
	uint64_t temporary_doubt; /* thousandths */
	uint64_t kind;		  /* of maps: enum profile_map */
};

/* A thread's share of a site: the blocks that it allocated there, whoever freed them. The shares of
 * a site add up to the site. Ordered by (site, thread), each pair at most once. */
struct profile_part {
	uint32_t site;	 /* index into sites */
	uint32_t thread; /* serial; 0: all further threads together */
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t at_peak_blocks;
	uint64_t at_peak_bytes;
	uint64_t temporary;
};

struct profile_thread {
	uint32_t tid;
	uint32_t serial; /* 1 is the first to allocate; the last one may stand for all further
			    threads */
	struct string_id name;
	uint32_t input; /* in a merged profile: row of `inputs` plus one; 0: not known */
	uint64_t start_ns;
	uint64_t end_ns; /* UINT64_MAX: still running at the end of the recording */
	/* Done by this thread. */
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t temporary;
	uint64_t reallocations;
	uint64_t failed_allocations;
	/* Blocks allocated by this thread, whoever freed them. */
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t own_peak_bytes;
	uint64_t own_peak_time_ns;
	uint64_t at_peak_bytes;
	uint64_t at_peak_blocks;
	uint64_t lifetime_min_ns;
	uint64_t lifetime_max_ns;
	uint64_t lifetime_sum_ns;
	uint64_t size_min;
	uint64_t size_max;
	uint64_t losses; /* lost + re-entrant events of this thread */
	/* Whole pages; all 0: the stack was not looked at. */
	uint64_t stack_reserved_bytes; /* how deep it could become */
	uint64_t stack_resident_bytes; /* when the thread, or the program, ended */
	uint64_t stack_deepest_bytes;  /* that it ever was */
};

/* A frame of a thread's (serial) deepest stack. By thread, outermost first; see docs/format.md. */
struct profile_depth {
	uint32_t thread, node;
	uint64_t bytes;
};

struct profile_bucket {
	uint64_t count;
	uint64_t bytes;
	uint64_t live_count;
	uint64_t live_bytes;
};

/* State at time_ns, which never goes back. Counts are from the start: a rate is a difference. */
struct profile_point {
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes; /* the highest live_bytes since the point before */
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t rss_bytes;
	uint64_t events;					/* of the trace that came before */
	uint64_t mapped_bytes, mapped_count, mapped_peak_bytes; /* live and peak, of maps */
};

/* At point `point`, `site` had these bytes live; unchanged until its next entry. Ordered by (point,
 * site), each pair at most once. */
struct profile_change {
	uint32_t point; /* index into points */
	uint32_t site;	/* index into sites */
	uint64_t live_bytes;
	uint64_t live_blocks;
};

/* A moment that the program or its user asked for; in order of time. Its point has the state of
 * every site. */
struct profile_snapshot {
	struct string_id name; /* may be empty, may repeat */
	uint32_t point;	       /* index into points; each is another one */
	uint32_t thread;       /* serial of the thread that asked for it; 0: from outside */
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t live_blocks;
};

/* Why somebody looked at which blocks keep which pages in memory. */
enum profile_reason {
	PROFILE_REASON_SNAPSHOT = 0,
	PROFILE_REASON_PEAK = 1, /* of the resident size, as far as it was looked at */
	PROFILE_REASON_END = 2,	 /* in exit(), when all of the program's own handlers had run */
	PROFILE_REASONS = 3
};

/* A look at the pages that the program's blocks lie in; docs/rss.md. In order of time. */
struct profile_survey {
	uint32_t reason;	/* enum profile_reason */
	uint32_t snapshot;	/* row of `snapshots` plus one; 0: not at one */
	struct string_id fault; /* why nothing could be seen; "": it could */
	uint64_t time_ns;
	uint64_t cost_ns;   /* processor time of the look, beside the program */
	uint64_t rss_bytes; /* of the whole program */
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t usable_bytes;	     /* of these blocks; 0: not known of this allocator */
	uint64_t touched_bytes;	     /* of live blocks, on resident pages */
	uint64_t swapped_live_bytes; /* ... on pages that are swapped out */
	uint64_t untouched_bytes;    /* ... on pages that have no memory */
	uint64_t resident_bytes;     /* pages of the heap: held ones and free ones */
	uint64_t held_bytes;	     /* ... with live blocks */
	uint64_t free_bytes;	     /* ... without any */
	uint64_t pinned_bytes;	     /* of held ones, what is not live */
	uint64_t swapped_bytes;
	uint64_t huge_bytes; /* of the resident pages, those in huge pages */
	uint64_t lone_pages; /* held by one small block alone */
};

/* What a site holds there. Ordered by (survey, site), each pair at most once. */
struct profile_pin {
	uint32_t survey; /* index into surveys */
	uint32_t site;	 /* index into sites */
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t resident_bytes; /* its share of the pages that its blocks are on */
	uint64_t pinned_bytes;	 /* the part of that which is not live */
	uint64_t lone_pages;
	uint64_t sole_bytes; /* pages that no other site has blocks on: free without this one */
};

/* A piece of the map of these pages. Ordered by (survey, start). */
struct profile_cell {
	uint32_t survey; /* index into surveys */
	uint32_t pages;
	uint32_t resident_pages;
	uint32_t held_pages;
	uint32_t site; /* that has most of what is live there, plus one; 0: nothing is */
	uint64_t start;
	uint64_t live_bytes;
};

/* Python's objects of one type that were live then, or samples of them. Ordered by (survey, bytes),
 * most first, but for blocks that are no objects, which come last and have no name. */
struct profile_type {
	uint32_t survey; /* index into surveys */
	struct string_id name;
	uint64_t objects;
	uint64_t bytes;
	uint64_t objects_deviation; /* standard deviation; 0: all were recorded */
	uint64_t bytes_deviation;
};

/* Pages of a loaded object that are in memory, one after another. Ordered by (module, start). An
 * object that has none was not there when somebody looked. */
struct profile_extent {
	uint32_t module;
	uint64_t start; /* run-time address */
	uint64_t bytes;
};

/* A variable of a loaded object. The largest come first, objects mixed. */
struct profile_variable {
	struct string_id name;	  /* demangled; "": stands for others of this object and section */
	struct string_id section; /* ".data" */
	struct string_id file;	  /* where it is defined; "" not known */
	uint32_t line;
	uint32_t module;
	uint32_t count; /* 1, or those that it stands for; 0: what no symbol tells of */
	uint32_t is_thread_local;
	uint64_t address;	 /* ELF virtual; of a thread-local one, where in its block */
	uint64_t size_bytes;	 /* of a thread-local one, in each thread */
	uint64_t resident_bytes; /* of it on resident pages; 0 if nobody looked or thread-local */
};

/* What a thread has done inside a path of tags (include/midden/midden.h), tags inside it apart.
 * Bytes are requested bytes where it says so, and the blocks' usable sizes otherwise: the size that
 * was asked for is not known when a block is freed. */
struct profile_tag {
	uint32_t snapshot;     /* at which it was so: row of `snapshots` plus one; 0: at the end */
	uint32_t thread;       /* serial */
	uint32_t parent;       /* row of `tags` plus one, before this one; 0: the thread's root */
	struct string_id name; /* of the innermost tag; "" for a root */
	uint32_t open;	       /* times entered and not left */
	uint64_t entered;
	uint64_t requested_bytes;
	uint64_t allocated_bytes;
	uint64_t freed_bytes;
	uint64_t frees;
	uint64_t resizes;	      /* of blocks by realloc, which is a call too */
	uint64_t calls[PROFILE_APIS]; /* by enum profile_api */
};

/* How a block is held, if at all: docs/leaks.md. */
enum profile_lost_class {
	PROFILE_LOST_DEFINITE = 0, /* nothing leads to it */
	PROFILE_LOST_INDIRECT = 1, /* only other lost blocks do */
	PROFILE_LOST_INTERIOR = 2, /* pointers to its inside, or over a block that is held so */
	PROFILE_LOST_HELD = 3,
	PROFILE_LOST_CLASSES = 4
};

enum profile_lost_flags {
	PROFILE_LOST_CHECKED = 1,   /* there was a look at all */
	PROFILE_LOST_AT_EXIT = 2,   /* when the program called exit; otherwise while it ran */
	PROFILE_LOST_MOVING = 4,    /* threads were not stopped: registers are not known */
	PROFILE_LOST_STRANGERS = 8, /* not all were recorded: unknown heap was taken for held */
	PROFILE_LOST_COPIED = 16,   /* what was looked at is a copy, made while it was stopped */
	PROFILE_LOST_LATER = 32,    /* what was read while it was stopped was looked at later */
};

/* Blocks of a site that are of one class; each pair at most once. */
struct profile_lost {
	uint32_t site;
	uint32_t class; /* enum profile_lost_class */
	uint64_t blocks;
	uint64_t bytes;
	uint64_t held_blocks; /* of DEFINITE: lost with them */
	uint64_t held_bytes;
	uint32_t chain; /* row of `links` plus one: one of the blocks, and who holds it; 0 none */
};

enum profile_link_kind {
	PROFILE_LINK_BLOCK = 0,
	PROFILE_LINK_GLOBAL = 1,
	PROFILE_LINK_STACK = 2,
	PROFILE_LINK_LOCAL = 3, /* thread-local */
	PROFILE_LINK_MAPPING = 4,
	PROFILE_LINK_REGISTER = 5,
	PROFILE_LINK_CUT = 6,  /* stands for blocks that were left out */
	PROFILE_LINK_HEAP = 7, /* a block that was not recorded */
	PROFILE_LINK_KINDS = 8
};

/* A step from a block to its holder. */
struct profile_link {
	uint32_t kind;	       /* enum profile_link_kind */
	uint32_t site;	       /* of BLOCK: plus one */
	uint32_t module;       /* of GLOBAL */
	uint32_t thread;       /* of STACK, LOCAL, REGISTER: its id in the system, not its serial */
	uint32_t holder;       /* row of `links` plus one, before this one; 0: none */
	struct string_id name; /* of GLOBAL: the variable, or the file that it is in */
	uint64_t address;      /* of a root: where the pointer is */
	uint64_t offset;       /* of BLOCK: where in its holder; of CUT: how many */
	uint64_t inside;       /* of BLOCK: where in it */
};

/* A block of the trace; events are in order of time, block after block. */
struct profile_block {
	uint64_t events;
	uint64_t ticks; /* of its first event */
};

struct trace_store;  /* where the blocks are: trace_store.h */
struct string_index; /* of profile_add_string, in profile.c */

struct profile {
	struct profile_run run;
	struct profile_totals totals;
	VEC(char) strings;
	VEC(struct profile_input) inputs; /* of a merged profile; empty otherwise */
	VEC(struct profile_module) modules;
	VEC(struct profile_node) nodes;
	VEC(struct profile_frame) frames;
	VEC(struct profile_site) sites;
	VEC(struct profile_part) parts;
	VEC(struct profile_thread) threads;
	VEC(struct profile_point) points;
	VEC(struct profile_change) changes;
	VEC(struct profile_snapshot) snapshots;
	VEC(struct profile_survey) surveys;
	VEC(struct profile_pin) pins;
	VEC(struct profile_cell) cells;
	VEC(struct profile_type) types;
	VEC(struct profile_extent) extents;
	VEC(struct profile_variable) variables;
	VEC(struct profile_depth) depths;
	VEC(struct profile_tag) tags;
	/* What the program has mapped itself, as if maps were blocks: all of it, by kind (their
	 * node is 0) and by stack and kind. A map that is gone in part is one still, with fewer
	 * bytes. No kinds: it was not recorded. */
	struct profile_totals map_totals;
	VEC(struct profile_site) map_kinds;
	VEC(struct profile_site) map_sites;
	VEC(struct profile_lost) lost; /* what became of the blocks that were not freed */
	VEC(struct profile_link) links;
	VEC(struct profile_block) blocks; /* of the trace (trace.h) */
	struct trace_store *trace;	  /* NULL: there is none */
	struct profile_bucket sizes[PROFILE_SIZE_BUCKETS];
	uint64_t size_by_life[PROFILE_SIZE_BUCKETS][PROFILE_LIFE_BUCKETS]; /* freed blocks */
	bool resolved;	  /* symbols have been looked up */
	bool of_maps;	  /* what is in `sites` and `totals` are maps, not blocks (map_view.h) */
	bool damaged;	  /* read from a cut-off or damaged file: some sections are missing */
	char damage[128]; /* what is missing, for people; a NUL-terminated text */
	struct string_index *index; /* private to profile.c; made when first needed */
};

/* An empty profile with the index-0 elements in place. Never NULL; free with profile_free. */
struct profile *profile_new(void);
void profile_free(struct profile *p);

/* Adds a string and returns its id; equal strings get the same id. NULL gives 0, and so does a
 * string for which the 4 GiB that an id can address do not suffice. `text` must not point into the
 * profile's own strings. */
struct string_id profile_add_string(struct profile *p, const char *text);

/* The text of an id; "" for an id out of range. Valid until the next profile_add_string. */
const char *profile_string(const struct profile *p, struct string_id id);

/* Whether it has counters by tag and nothing else: no stacks, no peak, no leaks. */
bool profile_is_by_tag(const struct profile *p);

/* Whether recording was stopped from the start to the end: it waited for what did not come. */
bool profile_has_never_begun(const struct profile *p);

/* Checks every index and invariant named above, in O(size); the reader has called it on what it
 * returns. */
int profile_check(const struct profile *p, struct error *e);

/* Writes crash-safely: a temporary file beside `path`, mode 0600, fsync, rename; a symbolic link at
 * `path` is replaced, not followed. A device or pipe is written to directly. 0, or -1 with a text
 * that begins with the path; the target is then as it was and no temporary is left. The profile's
 * indices are not checked. */
int profile_write(const struct profile *p, const char *path, struct error *e);

/* Reads and checks a file. Treats it as hostile. A cut-off or damaged file gives what could be
 * recovered with `damaged` set and `resolved` unset if names were lost; NULL only if nothing usable
 * is there. The error's text names neither the path nor the offset: the caller has both. */
struct profile *profile_read(const char *path, struct error *e);

/* The same on bytes in memory (fuzzers, tests). */
struct profile *profile_parse(const void *data, size_t bytes, struct error *e);

#endif
