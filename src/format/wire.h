/* wire.h -- the profile file (.mdn): magic, version, section tags, column numbers, limits.
 * Pure contract: no I/O, no allocation, no state. In words, with the reasons: docs/format.md.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   +-------------+---------+---------+---------+     +-----+
 *   | file header | section | section | section | ... | END |      section = header + zstd frame
 *   +-------------+---------+---------+---------+     +-----+
 *
 * Fixed-width integers are little-endian. A number that was once given out here is never used for
 * something else: old files must keep their meaning. */
#ifndef MIDDEN_FORMAT_WIRE_H
#define MIDDEN_FORMAT_WIRE_H

#include <stdint.h>

/* ---- file header ----------------------------------------------------------------------------- */

/* A byte above 127, both line endings and a control-Z: a copy made in text mode is seen at once. */
#define WIRE_MAGIC	       0x89, 'M', 'D', 'N', '\r', '\n', 0x1a, '\n'
#define WIRE_MAGIC_BYTES       8u
#define WIRE_VERSION	       1u /* raised only when an older reader would misread the file */

#define WIRE_FILE_HEADER_BYTES 24u
enum wire_file_header {
	WIRE_FILE_VERSION = 8,	 /* u32 */
	WIRE_FILE_RESERVED = 12, /* u32, 0 */
	WIRE_FILE_CHECK = 16,	 /* u64, XXH64 of the bytes before it */
};

/* ---- section header -------------------------------------------------------------------------- */

/* what a reader that lost its place looks for */
#define WIRE_SYNC		  0xd5, 'M', 'D', 's'
#define WIRE_SYNC_BYTES		  4u
#define WIRE_SECTION_HEADER_BYTES 40u
enum wire_section_header {
	WIRE_SECTION_TAG = 4,	    /* u32, WIRE_TAG */
	WIRE_SECTION_FLAGS = 8,	    /* u32, enum wire_section_flags */
	WIRE_SECTION_SEQUENCE = 12, /* u32, sections before this one */
	WIRE_SECTION_RAW = 16,	    /* u32, bytes of the payload once decompressed */
	WIRE_SECTION_STORED = 20,   /* u32, bytes that follow the header */
	WIRE_SECTION_HASH = 24,	    /* u64, XXH64 of the bytes that follow */
	WIRE_SECTION_CHECK = 32,    /* u64, XXH64 of the header's bytes before it */
};

enum wire_section_flags {
	WIRE_FLAG_REQUIRED = 1, /* a reader that does not know this tag must refuse the file */
};

#define WIRE_TAG(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define WIRE_TAG_INFO	    WIRE_TAG('I', 'N', 'F', 'O') /* how much of everything is to come */
#define WIRE_TAG_TOTALS	    WIRE_TAG('T', 'O', 'T', 'L')
#define WIRE_TAG_TEXT	    WIRE_TAG('T', 'E', 'X', 'T') /* the string table */
#define WIRE_TAG_RUN	    WIRE_TAG('R', 'U', 'N', ' ')
#define WIRE_TAG_INPUTS	    WIRE_TAG('I', 'N', 'P', 'T') /* what was merged */
#define WIRE_TAG_THREADS    WIRE_TAG('T', 'H', 'R', 'D')
#define WIRE_TAG_SIZES	    WIRE_TAG('S', 'I', 'Z', 'E') /* histogram of sizes */
#define WIRE_TAG_LIVES	    WIRE_TAG('L', 'I', 'F', 'E') /* sizes by lifetimes */
#define WIRE_TAG_POINTS	    WIRE_TAG('P', 'N', 'T', 'S') /* the time line */
#define WIRE_TAG_MODULES    WIRE_TAG('M', 'O', 'D', 'L')
#define WIRE_TAG_NODES	    WIRE_TAG('N', 'O', 'D', 'E')
#define WIRE_TAG_SITES	    WIRE_TAG('S', 'I', 'T', 'E')
#define WIRE_TAG_PARTS	    WIRE_TAG('P', 'A', 'R', 'T') /* sites by thread */
#define WIRE_TAG_FRAMES	    WIRE_TAG('F', 'R', 'A', 'M')
#define WIRE_TAG_CHANGES    WIRE_TAG('C', 'H', 'N', 'G')
#define WIRE_TAG_TRACE	    WIRE_TAG('T', 'R', 'C', 'E') /* a block of events */
#define WIRE_TAG_INDEX	    WIRE_TAG('T', 'I', 'D', 'X') /* of those blocks, by time */
#define WIRE_TAG_SNAPSHOTS  WIRE_TAG('S', 'N', 'A', 'P') /* moments that were asked for */
#define WIRE_TAG_TAGS	    WIRE_TAG('T', 'A', 'G', 'S') /* counters by tag */
#define WIRE_TAG_LOST	    WIRE_TAG('L', 'O', 'S', 'T') /* live blocks by how they are held */
#define WIRE_TAG_LINKS	    WIRE_TAG('L', 'I', 'N', 'K') /* and by whom */
#define WIRE_TAG_MAP_TOTALS WIRE_TAG('M', 'A', 'P', 'T') /* what the program maps itself: in all, */
#define WIRE_TAG_MAP_KINDS  WIRE_TAG('M', 'A', 'P', 'K') /* by kind, */
#define WIRE_TAG_MAP_SITES  WIRE_TAG('M', 'A', 'P', 'S') /* by stack */
#define WIRE_TAG_SURVEYS    WIRE_TAG('R', 'S', 'S', 'T') /* looks at what is resident */
#define WIRE_TAG_PINS	    WIRE_TAG('R', 'S', 'S', 'S') /* ... by site */
#define WIRE_TAG_CELLS	    WIRE_TAG('R', 'S', 'S', 'M') /* ... as a map */
#define WIRE_TAG_TYPES	    WIRE_TAG('P', 'Y', 'T', 'P') /* ... Python's objects by type */
#define WIRE_TAG_EXTENTS    WIRE_TAG('P', 'A', 'G', 'E') /* resident pages of loaded objects */
#define WIRE_TAG_VARIABLES  WIRE_TAG('V', 'A', 'R', 'S') /* ... and their variables */
#define WIRE_TAG_DEPTHS	    WIRE_TAG('D', 'E', 'E', 'P') /* deepest stacks by function */
/* no payload; its sequence counts the others */
#define WIRE_TAG_END WIRE_TAG('E', 'N', 'D', ' ')

/* ---- payload: a run of rows, stored column by column ----------------------------------------- */

/* varint first row, varint row count, then columns: varint column << 3 | coding, u32 bytes, data.
 * A column that is not there is 0 in every row; an unknown column is skipped. */
enum wire_coding {
	WIRE_PLAIN = 0, /* varint */
	WIRE_DELTA = 1, /* zigzag varint of the difference to the row before (first row: to 0) */
	WIRE_BEHIND =
		2, /* varint of row number - value: references to earlier rows of the same table */
	WIRE_BYTES = 3, /* a fixed number of bytes per row, as they are */
};
#define WIRE_CODING_BITS 3u

/* ---- limits, so that a lying file costs no more than an honest one --------------------------- */

#define WIRE_BLOCK_ROWS	 32768u	     /* rows per section: a cut costs at most one block */
#define WIRE_TEXT_BLOCK	 (1u << 20)  /* bytes of strings per section */
#define WIRE_RAW_MAX	 (16u << 20) /* payload bytes; 32768 rows x 25 columns x 10 fit twice */
#define WIRE_FILE_MAX	 (UINT64_C(4) << 30)  /* without the trace, which is never loaded whole */
#define WIRE_TRACED_MAX	 (UINT64_C(1) << 40)  /* with it */
#define WIRE_BUDGET_BASE (UINT64_C(64) << 20) /* decoded bytes that any file may ask for ... */
#define WIRE_BUDGET_RATE 256u /* ... and per byte of file; honest ones need about 7 */

/* ---- columns --------------------------------------------------------------------------------- */

enum wire_info_column {
	WIRE_INFO_TEXT = 1, /* rows in all sections of that tag together */
	WIRE_INFO_MODULES = 2,
	WIRE_INFO_NODES = 3,
	WIRE_INFO_FRAMES = 4,
	WIRE_INFO_SITES = 5,
	WIRE_INFO_THREADS = 6,
	WIRE_INFO_POINTS = 7,
	WIRE_INFO_CHANGES = 8,
	WIRE_INFO_RESOLVED = 9,
	WIRE_INFO_DAMAGED = 10, /* the profile was incomplete before it was written */
	WIRE_INFO_DAMAGE = 11,	/* 128 bytes */
	WIRE_INFO_PARTS = 12,
	WIRE_INFO_TRACE = 13,
	WIRE_INFO_SNAPSHOTS = 14,
	WIRE_INFO_INPUTS = 20,
	WIRE_INFO_TAGS = 24,
	WIRE_INFO_LOST = 28,
	WIRE_INFO_LINKS = 29,
	WIRE_INFO_MAP_KINDS = 40,
	WIRE_INFO_MAP_SITES = 41,
	WIRE_INFO_SURVEYS = 50,
	WIRE_INFO_PINS = 51,
	WIRE_INFO_CELLS = 52,
	WIRE_INFO_TYPES = 53,
	WIRE_INFO_EXTENTS = 60,
	WIRE_INFO_VARIABLES = 61,
	WIRE_INFO_DEPTHS = 64,
};

enum wire_text_column {
	WIRE_TEXT_BYTES = 1,
};

enum wire_run_column {
	WIRE_RUN_PROGRAM = 1,
	WIRE_RUN_EXECUTABLE = 2,
	WIRE_RUN_COMMAND = 3,
	WIRE_RUN_DIRECTORY = 4,
	WIRE_RUN_HOST = 5,
	WIRE_RUN_MODE = 6,
	WIRE_RUN_MACHINE = 7,
	WIRE_RUN_VERSION = 8,
	WIRE_RUN_START_UNIX_NS = 9,
	WIRE_RUN_DURATION_NS = 10,
	WIRE_RUN_PAGE_BYTES = 11,
	WIRE_RUN_PID = 12,
	WIRE_RUN_PARENT_PID = 13,
	WIRE_RUN_END = 14,
	WIRE_RUN_EXIT_CODE = 15,
	WIRE_RUN_EXIT_SIGNAL = 16,
	WIRE_RUN_CHILDREN_NOT_RECORDED = 17,
	WIRE_RUN_CLOCK_TICKS = 18, /* of the trace: so many ... */
	WIRE_RUN_CLOCK_NS = 19,	   /* ... in so many ns */
	WIRE_RUN_MERGE = 24,
	WIRE_RUN_CLEARED_NS = 30, /* when figures started over, 0 never */
	WIRE_RUN_STOPPED_NS = 31, /* for how long recording was stopped since then */
	WIRE_RUN_SAMPLE_PERIOD = 40,
	WIRE_RUN_SAMPLED_BLOCKS = 41,
	WIRE_RUN_SMALL_OBJECTS = 42,
	WIRE_RUN_RANK = 50,  /* of a parallel program, plus one; 0 none */
	WIRE_RUN_RANKS = 51, /* how many it has, 0 unknown */
	WIRE_RUN_LOST_FLAGS = 60,
	WIRE_RUN_LOST_TIME_NS = 61,
	WIRE_RUN_LOST_PAUSE_NS = 62,
	WIRE_RUN_LOST_READ_BYTES = 63,
	WIRE_RUN_LOST_UNREAD_BYTES = 64,
	WIRE_RUN_GLOBALS_TIME_NS = 70, /* of the look at objects, 0 none */
	WIRE_RUN_GLOBALS_THREADS = 71, /* at most at once */
};

enum wire_inputs_column {
	WIRE_INPUTS_NAME = 1,
	WIRE_INPUTS_PROGRAM = 2,
	WIRE_INPUTS_COMMAND = 3,
	WIRE_INPUTS_HOST = 4,
	WIRE_INPUTS_START_UNIX_NS = 5,
	WIRE_INPUTS_DURATION_NS = 6,
	WIRE_INPUTS_PID = 7,
	WIRE_INPUTS_PARENT_PID = 8,
	WIRE_INPUTS_END = 9,
	WIRE_INPUTS_EXIT_CODE = 10,
	WIRE_INPUTS_EXIT_SIGNAL = 11,
	WIRE_INPUTS_RANK = 12,	     /* plus one; 0 none */
	WIRE_INPUTS_LOST_FLAGS = 13, /* as of RUN */
	WIRE_INPUTS_TOTALS = 32,     /* + enum wire_totals_column: its totals */
};

enum wire_totals_column {
	WIRE_TOTALS_ALLOCATIONS = 1,
	WIRE_TOTALS_FREES = 2,
	WIRE_TOTALS_ALLOCATED_BYTES = 3,
	WIRE_TOTALS_FREED_BYTES = 4,
	WIRE_TOTALS_PEAK_BYTES = 5,
	WIRE_TOTALS_PEAK_BLOCKS = 6,
	WIRE_TOTALS_PEAK_TIME_NS = 7,
	WIRE_TOTALS_LEAKED_BYTES = 8,
	WIRE_TOTALS_LEAKED_BLOCKS = 9,
	WIRE_TOTALS_TEMPORARY_ALLOCATIONS = 10,
	WIRE_TOTALS_REALLOCATIONS = 11,
	WIRE_TOTALS_FAILED_ALLOCATIONS = 12,
	WIRE_TOTALS_THREADS = 13,
	WIRE_TOTALS_STACKS = 14,
	WIRE_TOTALS_RSS_PEAK_BYTES = 15,
	WIRE_TOTALS_OWN_MEMORY_BYTES = 16,
	WIRE_TOTALS_LOST_EVENTS = 17,
	WIRE_TOTALS_TRUNCATED_STACKS = 18,
	WIRE_TOTALS_UNWIND_FAILURES = 19,
	WIRE_TOTALS_FOREIGN_FREES = 20,
	WIRE_TOTALS_REENTRANT_CALLS = 21,
	WIRE_TOTALS_TRACE_LOST_EVENTS = 22,
	WIRE_TOTALS_LOST_SNAPSHOTS = 23,
	WIRE_TOTALS_UNTRACKED_FREES = 28,
	WIRE_TOTALS_API_CALLS = 32, /* to 39: one per entry of enum segment_api */
	WIRE_TOTALS_LOST_TAGS = 48,
	WIRE_TOTALS_UNMATCHED_TAG_POPS = 49,
	WIRE_TOTALS_SKIPPED_TAG_POPS = 50,
	WIRE_TOTALS_STALE_TAG_HANDLES = 51,
	WIRE_TOTALS_INHERITED_TAGS = 52,
	WIRE_TOTALS_ARENA_BYTES = 60,
	WIRE_TOTALS_ARENA_PEAK_BYTES = 61,
	WIRE_TOTALS_SMALL_BYTES = 62,
	WIRE_TOTALS_SMALL_PEAK_BYTES = 63,
};

enum wire_threads_column {
	WIRE_THREADS_TID = 1,
	WIRE_THREADS_SERIAL = 2,
	WIRE_THREADS_NAME = 3,
	WIRE_THREADS_START_NS = 4,
	WIRE_THREADS_END_NS = 5,
	WIRE_THREADS_ALLOCATIONS = 6,
	WIRE_THREADS_ALLOCATED_BYTES = 7,
	WIRE_THREADS_FREES = 8,
	WIRE_THREADS_FREED_BYTES = 9,
	WIRE_THREADS_TEMPORARY = 10,
	WIRE_THREADS_REALLOCATIONS = 11,
	WIRE_THREADS_FAILED_ALLOCATIONS = 12,
	WIRE_THREADS_LIVE_BLOCKS = 13,
	WIRE_THREADS_LIVE_BYTES = 14,
	WIRE_THREADS_OWN_PEAK_BYTES = 15,
	WIRE_THREADS_OWN_PEAK_TIME_NS = 16,
	WIRE_THREADS_AT_PEAK_BYTES = 17,
	WIRE_THREADS_AT_PEAK_BLOCKS = 18,
	WIRE_THREADS_LIFETIME_MIN_NS = 19,
	WIRE_THREADS_LIFETIME_MAX_NS = 20,
	WIRE_THREADS_LIFETIME_SUM_NS = 21,
	WIRE_THREADS_SIZE_MIN = 22,
	WIRE_THREADS_SIZE_MAX = 23,
	WIRE_THREADS_LOSSES = 24,
	WIRE_THREADS_INPUT = 32,
	WIRE_THREADS_STACK_RESERVED = 40,
	WIRE_THREADS_STACK_RESIDENT = 41,
	WIRE_THREADS_STACK_DEEPEST = 42,
};

enum wire_sizes_column {
	WIRE_SIZES_COUNT = 1,
	WIRE_SIZES_BYTES = 2,
	WIRE_SIZES_LIVE_COUNT = 3,
	WIRE_SIZES_LIVE_BYTES = 4,
};

enum wire_lives_column {
	WIRE_LIVES_COUNT = 1, /* row = size bucket x PROFILE_LIFE_BUCKETS + lifetime bucket */
};

enum wire_points_column {
	WIRE_POINTS_TIME_NS = 1,
	WIRE_POINTS_LIVE_BYTES = 2,
	WIRE_POINTS_LIVE_BLOCKS = 3,
	WIRE_POINTS_PEAK_BYTES = 4,
	WIRE_POINTS_ALLOCATIONS = 5,
	WIRE_POINTS_ALLOCATED_BYTES = 6,
	WIRE_POINTS_FREES = 7,
	WIRE_POINTS_FREED_BYTES = 8,
	WIRE_POINTS_RSS_BYTES = 9,
	WIRE_POINTS_EVENTS = 10,
	WIRE_POINTS_MAPPED_BYTES = 11,
	WIRE_POINTS_MAPPED_COUNT = 12,
	WIRE_POINTS_MAPPED_PEAK_BYTES = 13,
};

enum wire_modules_column {
	WIRE_MODULES_PATH = 1,
	WIRE_MODULES_BIAS = 2,
	WIRE_MODULES_MAP_START = 3,
	WIRE_MODULES_MAP_END = 4,
	WIRE_MODULES_LOAD_TIME_NS = 5,
	WIRE_MODULES_BUILD_ID_BYTES = 6,
	WIRE_MODULES_BUILD_ID = 7, /* 32 bytes */
};

enum wire_nodes_column {
	WIRE_NODES_PC = 1,
	WIRE_NODES_PARENT = 2,
	WIRE_NODES_MODULE = 3,
	WIRE_NODES_FRAMES = 4,
	WIRE_NODES_EXACT = 5,
	WIRE_NODES_CUT = 6,
	WIRE_NODES_NAMED = 7, /* enum profile_named */
};

enum wire_sites_column {
	WIRE_SITES_NODE = 1,
	WIRE_SITES_ALLOCATIONS = 2,
	WIRE_SITES_ALLOCATED_BYTES = 3,
	WIRE_SITES_FREES = 4,
	WIRE_SITES_FREED_BYTES = 5,
	WIRE_SITES_SIZE_MIN = 6,
	WIRE_SITES_SIZE_MAX = 7,
	WIRE_SITES_LIVE_BLOCKS = 8,
	WIRE_SITES_LIVE_BYTES = 9,
	WIRE_SITES_AT_PEAK_BLOCKS = 10,
	WIRE_SITES_AT_PEAK_BYTES = 11,
	WIRE_SITES_OWN_PEAK_BYTES = 12,
	WIRE_SITES_OWN_PEAK_TIME_NS = 13,
	WIRE_SITES_LIFETIME_MIN_NS = 14,
	WIRE_SITES_LIFETIME_MAX_NS = 15,
	WIRE_SITES_LIFETIME_SUM_NS = 16,
	WIRE_SITES_TEMPORARY = 17,
	WIRE_SITES_REALLOCATIONS = 18,
	WIRE_SITES_THREAD = 19, /* the only one that allocated here; 0: see PART */
	WIRE_SITES_KIND = 20,	/* of maps: enum profile_map */
	/* standard deviations, of blocks in thousandths */
	WIRE_SITES_ALLOCATED_DOUBT = 40,
	WIRE_SITES_ALLOCATIONS_DOUBT = 41,
	WIRE_SITES_LIVE_BYTES_DOUBT = 42,
	WIRE_SITES_LIVE_BLOCKS_DOUBT = 43,
	WIRE_SITES_AT_PEAK_BYTES_DOUBT = 44,
	WIRE_SITES_AT_PEAK_BLOCKS_DOUBT = 45,
	WIRE_SITES_TEMPORARY_DOUBT = 46,
};

enum wire_parts_column {
	WIRE_PARTS_SITE = 1,
	WIRE_PARTS_THREAD = 2,
	WIRE_PARTS_ALLOCATIONS = 3,
	WIRE_PARTS_ALLOCATED_BYTES = 4,
	WIRE_PARTS_FREES = 5,
	WIRE_PARTS_FREED_BYTES = 6,
	WIRE_PARTS_LIVE_BLOCKS = 7,
	WIRE_PARTS_LIVE_BYTES = 8,
	WIRE_PARTS_AT_PEAK_BLOCKS = 9,
	WIRE_PARTS_AT_PEAK_BYTES = 10,
	WIRE_PARTS_TEMPORARY = 11,
};

enum wire_frames_column {
	WIRE_FRAMES_FUNCTION = 1,
	WIRE_FRAMES_FILE = 2,
	WIRE_FRAMES_LINE = 3,
	WIRE_FRAMES_NEXT = 4,
};

enum wire_changes_column {
	WIRE_CHANGES_POINT = 1,
	WIRE_CHANGES_SITE = 2,
	WIRE_CHANGES_LIVE_BYTES = 3,
	WIRE_CHANGES_LIVE_BLOCKS = 4,
};

enum wire_snapshots_column {
	WIRE_SNAPSHOTS_NAME = 1,
	WIRE_SNAPSHOTS_TIME_NS = 2,
	WIRE_SNAPSHOTS_POINT = 3,
	WIRE_SNAPSHOTS_THREAD = 4,
	WIRE_SNAPSHOTS_LIVE_BYTES = 5,
	WIRE_SNAPSHOTS_LIVE_BLOCKS = 6,
};

enum wire_surveys_column {
	WIRE_SURVEYS_REASON = 1, /* enum profile_reason */
	WIRE_SURVEYS_SNAPSHOT = 2,
	WIRE_SURVEYS_FAULT = 3,
	WIRE_SURVEYS_TIME_NS = 4,
	WIRE_SURVEYS_COST_NS = 5,
	WIRE_SURVEYS_RSS_BYTES = 6,
	WIRE_SURVEYS_LIVE_BLOCKS = 7,
	WIRE_SURVEYS_LIVE_BYTES = 8,
	WIRE_SURVEYS_USABLE_BYTES = 9,
	WIRE_SURVEYS_TOUCHED_BYTES = 10,
	WIRE_SURVEYS_SWAPPED_LIVE_BYTES = 11,
	WIRE_SURVEYS_UNTOUCHED_BYTES = 12,
	WIRE_SURVEYS_RESIDENT_BYTES = 13,
	WIRE_SURVEYS_HELD_BYTES = 14,
	WIRE_SURVEYS_FREE_BYTES = 15,
	WIRE_SURVEYS_PINNED_BYTES = 16,
	WIRE_SURVEYS_SWAPPED_BYTES = 17,
	WIRE_SURVEYS_HUGE_BYTES = 18,
	WIRE_SURVEYS_LONE_PAGES = 19,
};

enum wire_pins_column {
	WIRE_PINS_SURVEY = 1,
	WIRE_PINS_SITE = 2,
	WIRE_PINS_LIVE_BLOCKS = 3,
	WIRE_PINS_LIVE_BYTES = 4,
	WIRE_PINS_RESIDENT_BYTES = 5,
	WIRE_PINS_PINNED_BYTES = 6,
	WIRE_PINS_LONE_PAGES = 7,
	WIRE_PINS_SOLE_BYTES = 8,
};

enum wire_cells_column {
	WIRE_CELLS_SURVEY = 1,
	WIRE_CELLS_START = 2,
	WIRE_CELLS_PAGES = 3,
	WIRE_CELLS_RESIDENT_PAGES = 4,
	WIRE_CELLS_HELD_PAGES = 5,
	WIRE_CELLS_LIVE_BYTES = 6,
	WIRE_CELLS_SITE = 7, /* plus one */
};

enum wire_types_column {
	WIRE_TYPES_SURVEY = 1,
	WIRE_TYPES_NAME = 2,
	WIRE_TYPES_OBJECTS = 3,
	WIRE_TYPES_BYTES = 4,
	WIRE_TYPES_OBJECTS_DEVIATION = 5,
	WIRE_TYPES_BYTES_DEVIATION = 6,
};

enum wire_extents_column {
	WIRE_EXTENTS_MODULE = 1,
	WIRE_EXTENTS_START = 2,
	WIRE_EXTENTS_BYTES = 3,
};

enum wire_variables_column {
	WIRE_VARIABLES_NAME = 1,
	WIRE_VARIABLES_SECTION = 2,
	WIRE_VARIABLES_FILE = 3,
	WIRE_VARIABLES_LINE = 4,
	WIRE_VARIABLES_MODULE = 5,
	WIRE_VARIABLES_COUNT = 6,
	WIRE_VARIABLES_THREAD_LOCAL = 7,
	WIRE_VARIABLES_ADDRESS = 8,
	WIRE_VARIABLES_SIZE_BYTES = 9,
	WIRE_VARIABLES_RESIDENT_BYTES = 10,
};

enum wire_depths_column {
	WIRE_DEPTHS_THREAD = 1,
	WIRE_DEPTHS_NODE = 2,
	WIRE_DEPTHS_BYTES = 3,
};

enum wire_tags_column {
	WIRE_TAGS_SNAPSHOT = 1,
	WIRE_TAGS_THREAD = 2,
	WIRE_TAGS_PARENT = 3, /* row + 1 */
	WIRE_TAGS_NAME = 4,
	WIRE_TAGS_ENTERED = 5,
	WIRE_TAGS_OPEN = 6,
	WIRE_TAGS_REQUESTED_BYTES = 7,
	WIRE_TAGS_ALLOCATED_BYTES = 8,
	WIRE_TAGS_FREED_BYTES = 9,
	WIRE_TAGS_FREES = 10,
	WIRE_TAGS_RESIZES = 11,
	WIRE_TAGS_CALLS = 16, /* to 23: one per entry of enum segment_api */
};

enum wire_lost_column {
	WIRE_LOST_SITE = 1,
	WIRE_LOST_CLASS = 2,
	WIRE_LOST_BLOCKS = 3,
	WIRE_LOST_BYTES = 4,
	WIRE_LOST_HELD_BLOCKS = 5,
	WIRE_LOST_HELD_BYTES = 6,
	WIRE_LOST_CHAIN = 7, /* row + 1 */
};

enum wire_links_column {
	WIRE_LINKS_KIND = 1,
	WIRE_LINKS_SITE = 2, /* row + 1 */
	WIRE_LINKS_MODULE = 3,
	WIRE_LINKS_THREAD = 4,
	WIRE_LINKS_HOLDER = 5, /* row + 1 */
	WIRE_LINKS_NAME = 6,
	WIRE_LINKS_ADDRESS = 7,
	WIRE_LINKS_OFFSET = 8,
	WIRE_LINKS_INSIDE = 9,
};

enum wire_trace_column {
	WIRE_TRACE_TICKS = 1,
	WIRE_TRACE_THREAD = 2,
	WIRE_TRACE_KIND = 3, /* enum wire_event */
	WIRE_TRACE_ADDRESS = 4,
	WIRE_TRACE_SIZE = 5,
	WIRE_TRACE_SITE = 6,
};

enum wire_index_column {
	WIRE_INDEX_EVENTS = 1,
	WIRE_INDEX_TICKS = 2, /* of the block's first event */
};

/* What happened to a block; frees repeat its size and site. */
enum wire_event {
	WIRE_EVENT_ALLOCATION = 1,
	WIRE_EVENT_FREE = 2,
	WIRE_EVENT_RESIZE_FREE = 3, /* of the old block by a realloc; the new one comes next */
	WIRE_EVENT_RESIZE_ALLOCATION = 4,
	WIRE_EVENT_MISSED_FREE = 5, /* not seen; the address was given out again */
	WIRE_EVENT_KINDS = 6
};

/* ---- fixed-width integers -------------------------------------------------------------------- */

static inline void wire_put_u32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static inline void wire_put_u64(uint8_t *at, uint64_t value)
{
	wire_put_u32(at, (uint32_t)value);
	wire_put_u32(at + 4, (uint32_t)(value >> 32));
}

static inline uint32_t wire_get_u32(const uint8_t *at)
{
	return WIRE_TAG(at[0], at[1], at[2], at[3]);
}

static inline uint64_t wire_get_u64(const uint8_t *at)
{
	return wire_get_u32(at) | (uint64_t)wire_get_u32(at + 4) << 32;
}

#endif
