/* columns.c -- which member of which structure is which column of which section.
 * Runs: offline; called by the profile writer and reader, which both walk these tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/columns.h"

#include <stddef.h>

#include "format/wire.h"
#include "profile/trace.h"

#define COLUMN(id, coding, kind, type, member)                                 \
	{                                                                      \
		id, WIRE_##coding, COLUMN_##kind, sizeof(((type *)0)->member), \
			offsetof(type, member)                                 \
	}

static const struct column info_columns[] = {
	COLUMN(WIRE_INFO_TEXT, PLAIN, U64, struct columns_info, rows[COLUMNS_TEXT]),
	COLUMN(WIRE_INFO_MODULES, PLAIN, U64, struct columns_info, rows[COLUMNS_MODULES]),
	COLUMN(WIRE_INFO_NODES, PLAIN, U64, struct columns_info, rows[COLUMNS_NODES]),
	COLUMN(WIRE_INFO_FRAMES, PLAIN, U64, struct columns_info, rows[COLUMNS_FRAMES]),
	COLUMN(WIRE_INFO_SITES, PLAIN, U64, struct columns_info, rows[COLUMNS_SITES]),
	COLUMN(WIRE_INFO_THREADS, PLAIN, U64, struct columns_info, rows[COLUMNS_THREADS]),
	COLUMN(WIRE_INFO_POINTS, PLAIN, U64, struct columns_info, rows[COLUMNS_POINTS]),
	COLUMN(WIRE_INFO_CHANGES, PLAIN, U64, struct columns_info, rows[COLUMNS_CHANGES]),
	COLUMN(WIRE_INFO_PARTS, PLAIN, U64, struct columns_info, rows[COLUMNS_PARTS]),
	COLUMN(WIRE_INFO_TRACE, PLAIN, U64, struct columns_info, rows[COLUMNS_TRACE]),
	COLUMN(WIRE_INFO_SNAPSHOTS, PLAIN, U64, struct columns_info, rows[COLUMNS_SNAPSHOTS]),
	COLUMN(WIRE_INFO_INPUTS, PLAIN, U64, struct columns_info, rows[COLUMNS_INPUTS]),
	COLUMN(WIRE_INFO_TAGS, PLAIN, U64, struct columns_info, rows[COLUMNS_TAGS]),
	COLUMN(WIRE_INFO_MAP_KINDS, PLAIN, U64, struct columns_info, rows[COLUMNS_MAP_KINDS]),
	COLUMN(WIRE_INFO_MAP_SITES, PLAIN, U64, struct columns_info, rows[COLUMNS_MAP_SITES]),
	COLUMN(WIRE_INFO_LOST, PLAIN, U64, struct columns_info, rows[COLUMNS_LOST]),
	COLUMN(WIRE_INFO_LINKS, PLAIN, U64, struct columns_info, rows[COLUMNS_LINKS]),
	COLUMN(WIRE_INFO_SURVEYS, PLAIN, U64, struct columns_info, rows[COLUMNS_SURVEYS]),
	COLUMN(WIRE_INFO_PINS, PLAIN, U64, struct columns_info, rows[COLUMNS_PINS]),
	COLUMN(WIRE_INFO_CELLS, PLAIN, U64, struct columns_info, rows[COLUMNS_CELLS]),
	COLUMN(WIRE_INFO_TYPES, PLAIN, U64, struct columns_info, rows[COLUMNS_TYPES]),
	COLUMN(WIRE_INFO_EXTENTS, PLAIN, U64, struct columns_info, rows[COLUMNS_EXTENTS]),
	COLUMN(WIRE_INFO_VARIABLES, PLAIN, U64, struct columns_info, rows[COLUMNS_VARIABLES]),
	COLUMN(WIRE_INFO_DEPTHS, PLAIN, U64, struct columns_info, rows[COLUMNS_DEPTHS]),
	COLUMN(WIRE_INFO_RESOLVED, PLAIN, BOOL, struct columns_info, resolved),
	COLUMN(WIRE_INFO_DAMAGED, PLAIN, BOOL, struct columns_info, damaged),
	COLUMN(WIRE_INFO_DAMAGE, BYTES, BYTES, struct columns_info, damage),
};

static const struct column text_columns[] = {
	{WIRE_TEXT_BYTES, WIRE_BYTES, COLUMN_BYTES, 1, 0},
};

static const struct column run_columns[] = {
	COLUMN(WIRE_RUN_PROGRAM, PLAIN, U32, struct profile_run, program),
	COLUMN(WIRE_RUN_EXECUTABLE, PLAIN, U32, struct profile_run, executable),
	COLUMN(WIRE_RUN_COMMAND, PLAIN, U32, struct profile_run, command),
	COLUMN(WIRE_RUN_DIRECTORY, PLAIN, U32, struct profile_run, directory),
	COLUMN(WIRE_RUN_HOST, PLAIN, U32, struct profile_run, host),
	COLUMN(WIRE_RUN_MODE, PLAIN, U32, struct profile_run, mode),
	COLUMN(WIRE_RUN_MACHINE, PLAIN, U32, struct profile_run, machine),
	COLUMN(WIRE_RUN_VERSION, PLAIN, U32, struct profile_run, version),
	COLUMN(WIRE_RUN_START_UNIX_NS, PLAIN, U64, struct profile_run, start_unix_ns),
	COLUMN(WIRE_RUN_DURATION_NS, PLAIN, U64, struct profile_run, duration_ns),
	COLUMN(WIRE_RUN_PAGE_BYTES, PLAIN, U64, struct profile_run, page_bytes),
	COLUMN(WIRE_RUN_PID, PLAIN, U32, struct profile_run, pid),
	COLUMN(WIRE_RUN_PARENT_PID, PLAIN, U32, struct profile_run, parent_pid),
	COLUMN(WIRE_RUN_END, PLAIN, U32, struct profile_run, end),
	COLUMN(WIRE_RUN_EXIT_CODE, DELTA, I32, struct profile_run, exit_code),
	COLUMN(WIRE_RUN_EXIT_SIGNAL, DELTA, I32, struct profile_run, exit_signal),
	COLUMN(WIRE_RUN_CHILDREN_NOT_RECORDED, PLAIN, U32, struct profile_run,
	       children_not_recorded),
	COLUMN(WIRE_RUN_CLOCK_TICKS, PLAIN, U64, struct profile_run, clock_ticks),
	COLUMN(WIRE_RUN_CLOCK_NS, PLAIN, U64, struct profile_run, clock_ns),
	COLUMN(WIRE_RUN_MERGE, PLAIN, U32, struct profile_run, merge),
	COLUMN(WIRE_RUN_CLEARED_NS, PLAIN, U64, struct profile_run, cleared_ns),
	COLUMN(WIRE_RUN_STOPPED_NS, PLAIN, U64, struct profile_run, stopped_ns),
	COLUMN(WIRE_RUN_SAMPLE_PERIOD, PLAIN, U64, struct profile_run, sample_period),
	COLUMN(WIRE_RUN_SAMPLED_BLOCKS, PLAIN, U32, struct profile_run, sampled_blocks),
	COLUMN(WIRE_RUN_SMALL_OBJECTS, PLAIN, U32, struct profile_run, small_objects),
	COLUMN(WIRE_RUN_RANK, PLAIN, U32, struct profile_run, rank),
	COLUMN(WIRE_RUN_RANKS, PLAIN, U32, struct profile_run, ranks),
	COLUMN(WIRE_RUN_LOST_FLAGS, PLAIN, U32, struct profile_run, lost_flags),
	COLUMN(WIRE_RUN_LOST_TIME_NS, PLAIN, U64, struct profile_run, lost_time_ns),
	COLUMN(WIRE_RUN_LOST_PAUSE_NS, PLAIN, U64, struct profile_run, lost_pause_ns),
	COLUMN(WIRE_RUN_LOST_READ_BYTES, PLAIN, U64, struct profile_run, lost_read_bytes),
	COLUMN(WIRE_RUN_LOST_UNREAD_BYTES, PLAIN, U64, struct profile_run, lost_unread_bytes),
	COLUMN(WIRE_RUN_GLOBALS_TIME_NS, PLAIN, U64, struct profile_run, globals_time_ns),
	COLUMN(WIRE_RUN_GLOBALS_THREADS, PLAIN, U32, struct profile_run, globals_threads),
};

static const struct column totals_columns[] = {
	COLUMN(WIRE_TOTALS_ALLOCATIONS, PLAIN, U64, struct profile_totals, allocations),
	COLUMN(WIRE_TOTALS_FREES, PLAIN, U64, struct profile_totals, frees),
	COLUMN(WIRE_TOTALS_ALLOCATED_BYTES, PLAIN, U64, struct profile_totals, allocated_bytes),
	COLUMN(WIRE_TOTALS_FREED_BYTES, PLAIN, U64, struct profile_totals, freed_bytes),
	COLUMN(WIRE_TOTALS_PEAK_BYTES, PLAIN, U64, struct profile_totals, peak_bytes),
	COLUMN(WIRE_TOTALS_PEAK_BLOCKS, PLAIN, U64, struct profile_totals, peak_blocks),
	COLUMN(WIRE_TOTALS_PEAK_TIME_NS, PLAIN, U64, struct profile_totals, peak_time_ns),
	COLUMN(WIRE_TOTALS_LEAKED_BYTES, PLAIN, U64, struct profile_totals, leaked_bytes),
	COLUMN(WIRE_TOTALS_LEAKED_BLOCKS, PLAIN, U64, struct profile_totals, leaked_blocks),
	COLUMN(WIRE_TOTALS_TEMPORARY_ALLOCATIONS, PLAIN, U64, struct profile_totals,
	       temporary_allocations),
	COLUMN(WIRE_TOTALS_REALLOCATIONS, PLAIN, U64, struct profile_totals, reallocations),
	COLUMN(WIRE_TOTALS_FAILED_ALLOCATIONS, PLAIN, U64, struct profile_totals,
	       failed_allocations),
	COLUMN(WIRE_TOTALS_THREADS, PLAIN, U64, struct profile_totals, threads),
	COLUMN(WIRE_TOTALS_STACKS, PLAIN, U64, struct profile_totals, stacks),
	COLUMN(WIRE_TOTALS_RSS_PEAK_BYTES, PLAIN, U64, struct profile_totals, rss_peak_bytes),
	COLUMN(WIRE_TOTALS_OWN_MEMORY_BYTES, PLAIN, U64, struct profile_totals, own_memory_bytes),
	COLUMN(WIRE_TOTALS_LOST_EVENTS, PLAIN, U64, struct profile_totals, lost_events),
	COLUMN(WIRE_TOTALS_TRUNCATED_STACKS, PLAIN, U64, struct profile_totals, truncated_stacks),
	COLUMN(WIRE_TOTALS_UNWIND_FAILURES, PLAIN, U64, struct profile_totals, unwind_failures),
	COLUMN(WIRE_TOTALS_FOREIGN_FREES, PLAIN, U64, struct profile_totals, foreign_frees),
	COLUMN(WIRE_TOTALS_REENTRANT_CALLS, PLAIN, U64, struct profile_totals, reentrant_calls),
	COLUMN(WIRE_TOTALS_TRACE_LOST_EVENTS, PLAIN, U64, struct profile_totals, trace_lost_events),
	COLUMN(WIRE_TOTALS_LOST_SNAPSHOTS, PLAIN, U64, struct profile_totals, lost_snapshots),
	COLUMN(WIRE_TOTALS_UNTRACKED_FREES, PLAIN, U64, struct profile_totals, untracked_frees),
	COLUMN(WIRE_TOTALS_API_CALLS + 0, PLAIN, U64, struct profile_totals, api_calls[0]),
	COLUMN(WIRE_TOTALS_API_CALLS + 1, PLAIN, U64, struct profile_totals, api_calls[1]),
	COLUMN(WIRE_TOTALS_API_CALLS + 2, PLAIN, U64, struct profile_totals, api_calls[2]),
	COLUMN(WIRE_TOTALS_API_CALLS + 3, PLAIN, U64, struct profile_totals, api_calls[3]),
	COLUMN(WIRE_TOTALS_API_CALLS + 4, PLAIN, U64, struct profile_totals, api_calls[4]),
	COLUMN(WIRE_TOTALS_API_CALLS + 5, PLAIN, U64, struct profile_totals, api_calls[5]),
	COLUMN(WIRE_TOTALS_API_CALLS + 6, PLAIN, U64, struct profile_totals, api_calls[6]),
	COLUMN(WIRE_TOTALS_API_CALLS + 7, PLAIN, U64, struct profile_totals, api_calls[7]),
	COLUMN(WIRE_TOTALS_LOST_TAGS, PLAIN, U64, struct profile_totals, lost_tags),
	COLUMN(WIRE_TOTALS_UNMATCHED_TAG_POPS, PLAIN, U64, struct profile_totals,
	       unmatched_tag_pops),
	COLUMN(WIRE_TOTALS_SKIPPED_TAG_POPS, PLAIN, U64, struct profile_totals, skipped_tag_pops),
	COLUMN(WIRE_TOTALS_STALE_TAG_HANDLES, PLAIN, U64, struct profile_totals, stale_tag_handles),
	COLUMN(WIRE_TOTALS_INHERITED_TAGS, PLAIN, U64, struct profile_totals, inherited_tags),
	COLUMN(WIRE_TOTALS_ARENA_BYTES, PLAIN, U64, struct profile_totals, arena_bytes),
	COLUMN(WIRE_TOTALS_ARENA_PEAK_BYTES, PLAIN, U64, struct profile_totals, arena_peak_bytes),
	COLUMN(WIRE_TOTALS_SMALL_BYTES, PLAIN, U64, struct profile_totals, small_bytes),
	COLUMN(WIRE_TOTALS_SMALL_PEAK_BYTES, PLAIN, U64, struct profile_totals, small_peak_bytes),
};

#define INPUT_TOTAL(id, member) \
	COLUMN((unsigned)WIRE_INPUTS_TOTALS + (id), PLAIN, U64, struct profile_input, totals.member)

static const struct column inputs_columns[] = {
	COLUMN(WIRE_INPUTS_NAME, DELTA, U32, struct profile_input, name),
	COLUMN(WIRE_INPUTS_PROGRAM, DELTA, U32, struct profile_input, program),
	COLUMN(WIRE_INPUTS_COMMAND, DELTA, U32, struct profile_input, command),
	COLUMN(WIRE_INPUTS_HOST, DELTA, U32, struct profile_input, host),
	COLUMN(WIRE_INPUTS_START_UNIX_NS, DELTA, U64, struct profile_input, start_unix_ns),
	COLUMN(WIRE_INPUTS_DURATION_NS, PLAIN, U64, struct profile_input, duration_ns),
	COLUMN(WIRE_INPUTS_PID, DELTA, U32, struct profile_input, pid),
	COLUMN(WIRE_INPUTS_PARENT_PID, DELTA, U32, struct profile_input, parent_pid),
	COLUMN(WIRE_INPUTS_END, PLAIN, U32, struct profile_input, end),
	COLUMN(WIRE_INPUTS_EXIT_CODE, DELTA, I32, struct profile_input, exit_code),
	COLUMN(WIRE_INPUTS_EXIT_SIGNAL, DELTA, I32, struct profile_input, exit_signal),
	COLUMN(WIRE_INPUTS_RANK, DELTA, U32, struct profile_input, rank),
	COLUMN(WIRE_INPUTS_LOST_FLAGS, PLAIN, U32, struct profile_input, lost_flags),
	INPUT_TOTAL(WIRE_TOTALS_ALLOCATIONS, allocations),
	INPUT_TOTAL(WIRE_TOTALS_FREES, frees),
	INPUT_TOTAL(WIRE_TOTALS_ALLOCATED_BYTES, allocated_bytes),
	INPUT_TOTAL(WIRE_TOTALS_FREED_BYTES, freed_bytes),
	INPUT_TOTAL(WIRE_TOTALS_PEAK_BYTES, peak_bytes),
	INPUT_TOTAL(WIRE_TOTALS_PEAK_BLOCKS, peak_blocks),
	INPUT_TOTAL(WIRE_TOTALS_PEAK_TIME_NS, peak_time_ns),
	INPUT_TOTAL(WIRE_TOTALS_LEAKED_BYTES, leaked_bytes),
	INPUT_TOTAL(WIRE_TOTALS_LEAKED_BLOCKS, leaked_blocks),
	INPUT_TOTAL(WIRE_TOTALS_TEMPORARY_ALLOCATIONS, temporary_allocations),
	INPUT_TOTAL(WIRE_TOTALS_REALLOCATIONS, reallocations),
	INPUT_TOTAL(WIRE_TOTALS_FAILED_ALLOCATIONS, failed_allocations),
	INPUT_TOTAL(WIRE_TOTALS_THREADS, threads),
	INPUT_TOTAL(WIRE_TOTALS_STACKS, stacks),
	INPUT_TOTAL(WIRE_TOTALS_RSS_PEAK_BYTES, rss_peak_bytes),
	INPUT_TOTAL(WIRE_TOTALS_OWN_MEMORY_BYTES, own_memory_bytes),
	INPUT_TOTAL(WIRE_TOTALS_LOST_EVENTS, lost_events),
	INPUT_TOTAL(WIRE_TOTALS_TRUNCATED_STACKS, truncated_stacks),
	INPUT_TOTAL(WIRE_TOTALS_UNWIND_FAILURES, unwind_failures),
	INPUT_TOTAL(WIRE_TOTALS_FOREIGN_FREES, foreign_frees),
	INPUT_TOTAL(WIRE_TOTALS_REENTRANT_CALLS, reentrant_calls),
	INPUT_TOTAL(WIRE_TOTALS_TRACE_LOST_EVENTS, trace_lost_events),
	INPUT_TOTAL(WIRE_TOTALS_LOST_SNAPSHOTS, lost_snapshots),
	INPUT_TOTAL(WIRE_TOTALS_UNTRACKED_FREES, untracked_frees),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 0, api_calls[0]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 1, api_calls[1]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 2, api_calls[2]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 3, api_calls[3]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 4, api_calls[4]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 5, api_calls[5]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 6, api_calls[6]),
	INPUT_TOTAL(WIRE_TOTALS_API_CALLS + 7, api_calls[7]),
	INPUT_TOTAL(WIRE_TOTALS_LOST_TAGS, lost_tags),
	INPUT_TOTAL(WIRE_TOTALS_UNMATCHED_TAG_POPS, unmatched_tag_pops),
	INPUT_TOTAL(WIRE_TOTALS_SKIPPED_TAG_POPS, skipped_tag_pops),
	INPUT_TOTAL(WIRE_TOTALS_STALE_TAG_HANDLES, stale_tag_handles),
	INPUT_TOTAL(WIRE_TOTALS_INHERITED_TAGS, inherited_tags),
	INPUT_TOTAL(WIRE_TOTALS_ARENA_BYTES, arena_bytes),
	INPUT_TOTAL(WIRE_TOTALS_ARENA_PEAK_BYTES, arena_peak_bytes),
	INPUT_TOTAL(WIRE_TOTALS_SMALL_BYTES, small_bytes),
	INPUT_TOTAL(WIRE_TOTALS_SMALL_PEAK_BYTES, small_peak_bytes),
};

static const struct column threads_columns[] = {
	COLUMN(WIRE_THREADS_TID, DELTA, U32, struct profile_thread, tid),
	COLUMN(WIRE_THREADS_SERIAL, DELTA, U32, struct profile_thread, serial),
	COLUMN(WIRE_THREADS_NAME, DELTA, U32, struct profile_thread, name),
	COLUMN(WIRE_THREADS_START_NS, DELTA, U64, struct profile_thread, start_ns),
	COLUMN(WIRE_THREADS_END_NS, DELTA, U64, struct profile_thread, end_ns),
	COLUMN(WIRE_THREADS_ALLOCATIONS, PLAIN, U64, struct profile_thread, allocations),
	COLUMN(WIRE_THREADS_ALLOCATED_BYTES, PLAIN, U64, struct profile_thread, allocated_bytes),
	COLUMN(WIRE_THREADS_FREES, PLAIN, U64, struct profile_thread, frees),
	COLUMN(WIRE_THREADS_FREED_BYTES, PLAIN, U64, struct profile_thread, freed_bytes),
	COLUMN(WIRE_THREADS_TEMPORARY, PLAIN, U64, struct profile_thread, temporary),
	COLUMN(WIRE_THREADS_REALLOCATIONS, PLAIN, U64, struct profile_thread, reallocations),
	COLUMN(WIRE_THREADS_FAILED_ALLOCATIONS, PLAIN, U64, struct profile_thread,
	       failed_allocations),
	COLUMN(WIRE_THREADS_LIVE_BLOCKS, PLAIN, U64, struct profile_thread, live_blocks),
	COLUMN(WIRE_THREADS_LIVE_BYTES, PLAIN, U64, struct profile_thread, live_bytes),
	COLUMN(WIRE_THREADS_OWN_PEAK_BYTES, PLAIN, U64, struct profile_thread, own_peak_bytes),
	COLUMN(WIRE_THREADS_OWN_PEAK_TIME_NS, PLAIN, U64, struct profile_thread, own_peak_time_ns),
	COLUMN(WIRE_THREADS_AT_PEAK_BYTES, PLAIN, U64, struct profile_thread, at_peak_bytes),
	COLUMN(WIRE_THREADS_AT_PEAK_BLOCKS, PLAIN, U64, struct profile_thread, at_peak_blocks),
	COLUMN(WIRE_THREADS_LIFETIME_MIN_NS, PLAIN, U64, struct profile_thread, lifetime_min_ns),
	COLUMN(WIRE_THREADS_LIFETIME_MAX_NS, PLAIN, U64, struct profile_thread, lifetime_max_ns),
	COLUMN(WIRE_THREADS_LIFETIME_SUM_NS, PLAIN, U64, struct profile_thread, lifetime_sum_ns),
	COLUMN(WIRE_THREADS_SIZE_MIN, PLAIN, U64, struct profile_thread, size_min),
	COLUMN(WIRE_THREADS_SIZE_MAX, PLAIN, U64, struct profile_thread, size_max),
	COLUMN(WIRE_THREADS_LOSSES, PLAIN, U64, struct profile_thread, losses),
	COLUMN(WIRE_THREADS_INPUT, DELTA, U32, struct profile_thread, input),
	COLUMN(WIRE_THREADS_STACK_RESERVED, PLAIN, U64, struct profile_thread,
	       stack_reserved_bytes),
	COLUMN(WIRE_THREADS_STACK_RESIDENT, PLAIN, U64, struct profile_thread,
	       stack_resident_bytes),
	COLUMN(WIRE_THREADS_STACK_DEEPEST, PLAIN, U64, struct profile_thread, stack_deepest_bytes),
};

static const struct column tags_columns[] = {
	COLUMN(WIRE_TAGS_SNAPSHOT, DELTA, U32, struct profile_tag, snapshot),
	COLUMN(WIRE_TAGS_THREAD, DELTA, U32, struct profile_tag, thread),
	COLUMN(WIRE_TAGS_PARENT, BEHIND, U32, struct profile_tag, parent),
	COLUMN(WIRE_TAGS_NAME, DELTA, U32, struct profile_tag, name),
	COLUMN(WIRE_TAGS_ENTERED, PLAIN, U64, struct profile_tag, entered),
	COLUMN(WIRE_TAGS_OPEN, PLAIN, U32, struct profile_tag, open),
	COLUMN(WIRE_TAGS_REQUESTED_BYTES, PLAIN, U64, struct profile_tag, requested_bytes),
	COLUMN(WIRE_TAGS_ALLOCATED_BYTES, PLAIN, U64, struct profile_tag, allocated_bytes),
	COLUMN(WIRE_TAGS_FREED_BYTES, PLAIN, U64, struct profile_tag, freed_bytes),
	COLUMN(WIRE_TAGS_FREES, PLAIN, U64, struct profile_tag, frees),
	COLUMN(WIRE_TAGS_RESIZES, PLAIN, U64, struct profile_tag, resizes),
	COLUMN(WIRE_TAGS_CALLS + 0, PLAIN, U64, struct profile_tag, calls[0]),
	COLUMN(WIRE_TAGS_CALLS + 1, PLAIN, U64, struct profile_tag, calls[1]),
	COLUMN(WIRE_TAGS_CALLS + 2, PLAIN, U64, struct profile_tag, calls[2]),
	COLUMN(WIRE_TAGS_CALLS + 3, PLAIN, U64, struct profile_tag, calls[3]),
	COLUMN(WIRE_TAGS_CALLS + 4, PLAIN, U64, struct profile_tag, calls[4]),
	COLUMN(WIRE_TAGS_CALLS + 5, PLAIN, U64, struct profile_tag, calls[5]),
	COLUMN(WIRE_TAGS_CALLS + 6, PLAIN, U64, struct profile_tag, calls[6]),
	COLUMN(WIRE_TAGS_CALLS + 7, PLAIN, U64, struct profile_tag, calls[7]),
};

static const struct column lost_columns[] = {
	COLUMN(WIRE_LOST_SITE, DELTA, U32, struct profile_lost, site),
	COLUMN(WIRE_LOST_CLASS, PLAIN, U32, struct profile_lost, class),
	COLUMN(WIRE_LOST_BLOCKS, PLAIN, U64, struct profile_lost, blocks),
	COLUMN(WIRE_LOST_BYTES, PLAIN, U64, struct profile_lost, bytes),
	COLUMN(WIRE_LOST_HELD_BLOCKS, PLAIN, U64, struct profile_lost, held_blocks),
	COLUMN(WIRE_LOST_HELD_BYTES, PLAIN, U64, struct profile_lost, held_bytes),
	COLUMN(WIRE_LOST_CHAIN, DELTA, U32, struct profile_lost, chain),
};

static const struct column links_columns[] = {
	COLUMN(WIRE_LINKS_KIND, PLAIN, U32, struct profile_link, kind),
	COLUMN(WIRE_LINKS_SITE, DELTA, U32, struct profile_link, site),
	COLUMN(WIRE_LINKS_MODULE, DELTA, U32, struct profile_link, module),
	COLUMN(WIRE_LINKS_THREAD, DELTA, U32, struct profile_link, thread),
	COLUMN(WIRE_LINKS_HOLDER, BEHIND, U32, struct profile_link, holder),
	COLUMN(WIRE_LINKS_NAME, DELTA, U32, struct profile_link, name),
	COLUMN(WIRE_LINKS_ADDRESS, DELTA, U64, struct profile_link, address),
	COLUMN(WIRE_LINKS_OFFSET, PLAIN, U64, struct profile_link, offset),
	COLUMN(WIRE_LINKS_INSIDE, PLAIN, U64, struct profile_link, inside),
};

static const struct column sizes_columns[] = {
	COLUMN(WIRE_SIZES_COUNT, PLAIN, U64, struct profile_bucket, count),
	COLUMN(WIRE_SIZES_BYTES, PLAIN, U64, struct profile_bucket, bytes),
	COLUMN(WIRE_SIZES_LIVE_COUNT, PLAIN, U64, struct profile_bucket, live_count),
	COLUMN(WIRE_SIZES_LIVE_BYTES, PLAIN, U64, struct profile_bucket, live_bytes),
};

static const struct column lives_columns[] = {
	{WIRE_LIVES_COUNT, WIRE_PLAIN, COLUMN_U64, sizeof(uint64_t), 0},
};

static const struct column points_columns[] = {
	COLUMN(WIRE_POINTS_TIME_NS, DELTA, U64, struct profile_point, time_ns),
	COLUMN(WIRE_POINTS_LIVE_BYTES, DELTA, U64, struct profile_point, live_bytes),
	COLUMN(WIRE_POINTS_LIVE_BLOCKS, DELTA, U64, struct profile_point, live_blocks),
	COLUMN(WIRE_POINTS_PEAK_BYTES, DELTA, U64, struct profile_point, peak_bytes),
	COLUMN(WIRE_POINTS_ALLOCATIONS, DELTA, U64, struct profile_point, allocations),
	COLUMN(WIRE_POINTS_ALLOCATED_BYTES, DELTA, U64, struct profile_point, allocated_bytes),
	COLUMN(WIRE_POINTS_FREES, DELTA, U64, struct profile_point, frees),
	COLUMN(WIRE_POINTS_FREED_BYTES, DELTA, U64, struct profile_point, freed_bytes),
	COLUMN(WIRE_POINTS_RSS_BYTES, DELTA, U64, struct profile_point, rss_bytes),
	COLUMN(WIRE_POINTS_EVENTS, DELTA, U64, struct profile_point, events),
	COLUMN(WIRE_POINTS_MAPPED_BYTES, DELTA, U64, struct profile_point, mapped_bytes),
	COLUMN(WIRE_POINTS_MAPPED_COUNT, DELTA, U64, struct profile_point, mapped_count),
	COLUMN(WIRE_POINTS_MAPPED_PEAK_BYTES, DELTA, U64, struct profile_point, mapped_peak_bytes),
};

static const struct column modules_columns[] = {
	COLUMN(WIRE_MODULES_PATH, DELTA, U32, struct profile_module, path),
	COLUMN(WIRE_MODULES_BIAS, DELTA, U64, struct profile_module, bias),
	COLUMN(WIRE_MODULES_MAP_START, DELTA, U64, struct profile_module, map_start),
	COLUMN(WIRE_MODULES_MAP_END, DELTA, U64, struct profile_module, map_end),
	COLUMN(WIRE_MODULES_LOAD_TIME_NS, DELTA, U64, struct profile_module, load_time_ns),
	COLUMN(WIRE_MODULES_BUILD_ID_BYTES, PLAIN, U32, struct profile_module, build_id_bytes),
	COLUMN(WIRE_MODULES_BUILD_ID, BYTES, BYTES, struct profile_module, build_id),
};

static const struct column nodes_columns[] = {
	COLUMN(WIRE_NODES_PC, DELTA, U64, struct profile_node, pc),
	COLUMN(WIRE_NODES_PARENT, BEHIND, U32, struct profile_node, parent),
	COLUMN(WIRE_NODES_MODULE, PLAIN, U32, struct profile_node, module),
	COLUMN(WIRE_NODES_FRAMES, DELTA, U32, struct profile_node, frames),
	COLUMN(WIRE_NODES_EXACT, PLAIN, BOOL, struct profile_node, exact),
	COLUMN(WIRE_NODES_CUT, PLAIN, BOOL, struct profile_node, cut),
	COLUMN(WIRE_NODES_NAMED, PLAIN, U32, struct profile_node, named),
};

static const struct column sites_columns[] = {
	COLUMN(WIRE_SITES_NODE, DELTA, U32, struct profile_site, node),
	COLUMN(WIRE_SITES_ALLOCATIONS, PLAIN, U64, struct profile_site, allocations),
	COLUMN(WIRE_SITES_ALLOCATED_BYTES, PLAIN, U64, struct profile_site, allocated_bytes),
	COLUMN(WIRE_SITES_FREES, PLAIN, U64, struct profile_site, frees),
	COLUMN(WIRE_SITES_FREED_BYTES, PLAIN, U64, struct profile_site, freed_bytes),
	COLUMN(WIRE_SITES_SIZE_MIN, PLAIN, U64, struct profile_site, size_min),
	COLUMN(WIRE_SITES_SIZE_MAX, PLAIN, U64, struct profile_site, size_max),
	COLUMN(WIRE_SITES_LIVE_BLOCKS, PLAIN, U64, struct profile_site, live_blocks),
	COLUMN(WIRE_SITES_LIVE_BYTES, PLAIN, U64, struct profile_site, live_bytes),
	COLUMN(WIRE_SITES_AT_PEAK_BLOCKS, PLAIN, U64, struct profile_site, at_peak_blocks),
	COLUMN(WIRE_SITES_AT_PEAK_BYTES, PLAIN, U64, struct profile_site, at_peak_bytes),
	COLUMN(WIRE_SITES_OWN_PEAK_BYTES, PLAIN, U64, struct profile_site, own_peak_bytes),
	COLUMN(WIRE_SITES_OWN_PEAK_TIME_NS, PLAIN, U64, struct profile_site, own_peak_time_ns),
	COLUMN(WIRE_SITES_LIFETIME_MIN_NS, PLAIN, U64, struct profile_site, lifetime_min_ns),
	COLUMN(WIRE_SITES_LIFETIME_MAX_NS, PLAIN, U64, struct profile_site, lifetime_max_ns),
	COLUMN(WIRE_SITES_LIFETIME_SUM_NS, PLAIN, U64, struct profile_site, lifetime_sum_ns),
	COLUMN(WIRE_SITES_TEMPORARY, PLAIN, U64, struct profile_site, temporary),
	COLUMN(WIRE_SITES_REALLOCATIONS, PLAIN, U64, struct profile_site, reallocations),
	COLUMN(WIRE_SITES_THREAD, PLAIN, U32, struct profile_site, thread),
	COLUMN(WIRE_SITES_KIND, PLAIN, U64, struct profile_site, kind),
	COLUMN(WIRE_SITES_ALLOCATED_DOUBT, PLAIN, U64, struct profile_site, allocated_doubt.bytes),
	COLUMN(WIRE_SITES_ALLOCATIONS_DOUBT, PLAIN, U64, struct profile_site,
	       allocated_doubt.milliblocks),
	COLUMN(WIRE_SITES_LIVE_BYTES_DOUBT, PLAIN, U64, struct profile_site, live_doubt.bytes),
	COLUMN(WIRE_SITES_LIVE_BLOCKS_DOUBT, PLAIN, U64, struct profile_site,
	       live_doubt.milliblocks),
	COLUMN(WIRE_SITES_AT_PEAK_BYTES_DOUBT, PLAIN, U64, struct profile_site,
	       at_peak_doubt.bytes),
	COLUMN(WIRE_SITES_AT_PEAK_BLOCKS_DOUBT, PLAIN, U64, struct profile_site,
	       at_peak_doubt.milliblocks),
	COLUMN(WIRE_SITES_TEMPORARY_DOUBT, PLAIN, U64, struct profile_site, temporary_doubt),
};

static const struct column parts_columns[] = {
	COLUMN(WIRE_PARTS_SITE, DELTA, U32, struct profile_part, site),
	COLUMN(WIRE_PARTS_THREAD, DELTA, U32, struct profile_part, thread),
	COLUMN(WIRE_PARTS_ALLOCATIONS, PLAIN, U64, struct profile_part, allocations),
	COLUMN(WIRE_PARTS_ALLOCATED_BYTES, PLAIN, U64, struct profile_part, allocated_bytes),
	COLUMN(WIRE_PARTS_FREES, PLAIN, U64, struct profile_part, frees),
	COLUMN(WIRE_PARTS_FREED_BYTES, PLAIN, U64, struct profile_part, freed_bytes),
	COLUMN(WIRE_PARTS_LIVE_BLOCKS, PLAIN, U64, struct profile_part, live_blocks),
	COLUMN(WIRE_PARTS_LIVE_BYTES, PLAIN, U64, struct profile_part, live_bytes),
	COLUMN(WIRE_PARTS_AT_PEAK_BLOCKS, PLAIN, U64, struct profile_part, at_peak_blocks),
	COLUMN(WIRE_PARTS_AT_PEAK_BYTES, PLAIN, U64, struct profile_part, at_peak_bytes),
	COLUMN(WIRE_PARTS_TEMPORARY, PLAIN, U64, struct profile_part, temporary),
};

static const struct column frames_columns[] = {
	COLUMN(WIRE_FRAMES_FUNCTION, DELTA, U32, struct profile_frame, function),
	COLUMN(WIRE_FRAMES_FILE, DELTA, U32, struct profile_frame, file),
	COLUMN(WIRE_FRAMES_LINE, PLAIN, U32, struct profile_frame, line),
	COLUMN(WIRE_FRAMES_NEXT, PLAIN, U32, struct profile_frame, next),
};

static const struct column changes_columns[] = {
	COLUMN(WIRE_CHANGES_POINT, DELTA, U32, struct profile_change, point),
	COLUMN(WIRE_CHANGES_SITE, DELTA, U32, struct profile_change, site),
	COLUMN(WIRE_CHANGES_LIVE_BYTES, PLAIN, U64, struct profile_change, live_bytes),
	COLUMN(WIRE_CHANGES_LIVE_BLOCKS, PLAIN, U64, struct profile_change, live_blocks),
};

static const struct column snapshots_columns[] = {
	COLUMN(WIRE_SNAPSHOTS_NAME, DELTA, U32, struct profile_snapshot, name),
	COLUMN(WIRE_SNAPSHOTS_TIME_NS, DELTA, U64, struct profile_snapshot, time_ns),
	COLUMN(WIRE_SNAPSHOTS_POINT, DELTA, U32, struct profile_snapshot, point),
	COLUMN(WIRE_SNAPSHOTS_THREAD, PLAIN, U32, struct profile_snapshot, thread),
	COLUMN(WIRE_SNAPSHOTS_LIVE_BYTES, DELTA, U64, struct profile_snapshot, live_bytes),
	COLUMN(WIRE_SNAPSHOTS_LIVE_BLOCKS, DELTA, U64, struct profile_snapshot, live_blocks),
};

static const struct column surveys_columns[] = {
	COLUMN(WIRE_SURVEYS_REASON, PLAIN, U32, struct profile_survey, reason),
	COLUMN(WIRE_SURVEYS_SNAPSHOT, PLAIN, U32, struct profile_survey, snapshot),
	COLUMN(WIRE_SURVEYS_FAULT, PLAIN, U32, struct profile_survey, fault),
	COLUMN(WIRE_SURVEYS_TIME_NS, DELTA, U64, struct profile_survey, time_ns),
	COLUMN(WIRE_SURVEYS_COST_NS, PLAIN, U64, struct profile_survey, cost_ns),
	COLUMN(WIRE_SURVEYS_RSS_BYTES, PLAIN, U64, struct profile_survey, rss_bytes),
	COLUMN(WIRE_SURVEYS_LIVE_BLOCKS, PLAIN, U64, struct profile_survey, live_blocks),
	COLUMN(WIRE_SURVEYS_LIVE_BYTES, PLAIN, U64, struct profile_survey, live_bytes),
	COLUMN(WIRE_SURVEYS_USABLE_BYTES, PLAIN, U64, struct profile_survey, usable_bytes),
	COLUMN(WIRE_SURVEYS_TOUCHED_BYTES, PLAIN, U64, struct profile_survey, touched_bytes),
	COLUMN(WIRE_SURVEYS_SWAPPED_LIVE_BYTES, PLAIN, U64, struct profile_survey,
	       swapped_live_bytes),
	COLUMN(WIRE_SURVEYS_UNTOUCHED_BYTES, PLAIN, U64, struct profile_survey, untouched_bytes),
	COLUMN(WIRE_SURVEYS_RESIDENT_BYTES, PLAIN, U64, struct profile_survey, resident_bytes),
	COLUMN(WIRE_SURVEYS_HELD_BYTES, PLAIN, U64, struct profile_survey, held_bytes),
	COLUMN(WIRE_SURVEYS_FREE_BYTES, PLAIN, U64, struct profile_survey, free_bytes),
	COLUMN(WIRE_SURVEYS_PINNED_BYTES, PLAIN, U64, struct profile_survey, pinned_bytes),
	COLUMN(WIRE_SURVEYS_SWAPPED_BYTES, PLAIN, U64, struct profile_survey, swapped_bytes),
	COLUMN(WIRE_SURVEYS_HUGE_BYTES, PLAIN, U64, struct profile_survey, huge_bytes),
	COLUMN(WIRE_SURVEYS_LONE_PAGES, PLAIN, U64, struct profile_survey, lone_pages),
};

static const struct column pins_columns[] = {
	COLUMN(WIRE_PINS_SURVEY, DELTA, U32, struct profile_pin, survey),
	COLUMN(WIRE_PINS_SITE, DELTA, U32, struct profile_pin, site),
	COLUMN(WIRE_PINS_LIVE_BLOCKS, PLAIN, U64, struct profile_pin, live_blocks),
	COLUMN(WIRE_PINS_LIVE_BYTES, PLAIN, U64, struct profile_pin, live_bytes),
	COLUMN(WIRE_PINS_RESIDENT_BYTES, PLAIN, U64, struct profile_pin, resident_bytes),
	COLUMN(WIRE_PINS_PINNED_BYTES, PLAIN, U64, struct profile_pin, pinned_bytes),
	COLUMN(WIRE_PINS_LONE_PAGES, PLAIN, U64, struct profile_pin, lone_pages),
	COLUMN(WIRE_PINS_SOLE_BYTES, PLAIN, U64, struct profile_pin, sole_bytes),
};

static const struct column cells_columns[] = {
	COLUMN(WIRE_CELLS_SURVEY, DELTA, U32, struct profile_cell, survey),
	COLUMN(WIRE_CELLS_START, DELTA, U64, struct profile_cell, start),
	COLUMN(WIRE_CELLS_PAGES, PLAIN, U32, struct profile_cell, pages),
	COLUMN(WIRE_CELLS_RESIDENT_PAGES, PLAIN, U32, struct profile_cell, resident_pages),
	COLUMN(WIRE_CELLS_HELD_PAGES, PLAIN, U32, struct profile_cell, held_pages),
	COLUMN(WIRE_CELLS_LIVE_BYTES, PLAIN, U64, struct profile_cell, live_bytes),
	COLUMN(WIRE_CELLS_SITE, PLAIN, U32, struct profile_cell, site),
};

static const struct column types_columns[] = {
	COLUMN(WIRE_TYPES_SURVEY, DELTA, U32, struct profile_type, survey),
	COLUMN(WIRE_TYPES_NAME, PLAIN, U32, struct profile_type, name),
	COLUMN(WIRE_TYPES_OBJECTS, PLAIN, U64, struct profile_type, objects),
	COLUMN(WIRE_TYPES_BYTES, PLAIN, U64, struct profile_type, bytes),
	COLUMN(WIRE_TYPES_OBJECTS_DEVIATION, PLAIN, U64, struct profile_type, objects_deviation),
	COLUMN(WIRE_TYPES_BYTES_DEVIATION, PLAIN, U64, struct profile_type, bytes_deviation),
};

static const struct column extents_columns[] = {
	COLUMN(WIRE_EXTENTS_MODULE, DELTA, U32, struct profile_extent, module),
	COLUMN(WIRE_EXTENTS_START, DELTA, U64, struct profile_extent, start),
	COLUMN(WIRE_EXTENTS_BYTES, PLAIN, U64, struct profile_extent, bytes),
};

static const struct column variables_columns[] = {
	COLUMN(WIRE_VARIABLES_NAME, PLAIN, U32, struct profile_variable, name),
	COLUMN(WIRE_VARIABLES_SECTION, PLAIN, U32, struct profile_variable, section),
	COLUMN(WIRE_VARIABLES_FILE, PLAIN, U32, struct profile_variable, file),
	COLUMN(WIRE_VARIABLES_LINE, PLAIN, U32, struct profile_variable, line),
	COLUMN(WIRE_VARIABLES_MODULE, DELTA, U32, struct profile_variable, module),
	COLUMN(WIRE_VARIABLES_COUNT, PLAIN, U32, struct profile_variable, count),
	COLUMN(WIRE_VARIABLES_THREAD_LOCAL, PLAIN, U32, struct profile_variable, is_thread_local),
	COLUMN(WIRE_VARIABLES_ADDRESS, DELTA, U64, struct profile_variable, address),
	COLUMN(WIRE_VARIABLES_SIZE_BYTES, DELTA, U64, struct profile_variable, size_bytes),
	COLUMN(WIRE_VARIABLES_RESIDENT_BYTES, PLAIN, U64, struct profile_variable, resident_bytes),
};

static const struct column depths_columns[] = {
	COLUMN(WIRE_DEPTHS_THREAD, DELTA, U32, struct profile_depth, thread),
	COLUMN(WIRE_DEPTHS_NODE, DELTA, U32, struct profile_depth, node),
	COLUMN(WIRE_DEPTHS_BYTES, PLAIN, U64, struct profile_depth, bytes),
};

static const struct column events_columns[] = {
	COLUMN(WIRE_TRACE_TICKS, DELTA, U64, struct trace_event, time_ns),
	COLUMN(WIRE_TRACE_THREAD, PLAIN, U32, struct trace_event, thread),
	COLUMN(WIRE_TRACE_KIND, PLAIN, U32, struct trace_event, kind),
	COLUMN(WIRE_TRACE_ADDRESS, DELTA, U64, struct trace_event, address),
	COLUMN(WIRE_TRACE_SIZE, PLAIN, U64, struct trace_event, size),
	COLUMN(WIRE_TRACE_SITE, PLAIN, U32, struct trace_event, site),
};

static const struct column blocks_columns[] = {
	COLUMN(WIRE_INDEX_EVENTS, PLAIN, U64, struct profile_block, events),
	COLUMN(WIRE_INDEX_TICKS, DELTA, U64, struct profile_block, ticks),
};

#define COLUMNS(label) label##_columns, sizeof(label##_columns) / sizeof(label##_columns[0])

#define IN_PLACE(name, tag, label, type, place, rows) \
	const struct table columns_##label = {        \
		(tag), (name), COLUMNS(label), sizeof(type), WIRE_BLOCK_ROWS, (rows), (place)}

#define IN_VEC(name, tag, label, type, member)                                   \
	{                                                                        \
		(tag), (name), COLUMNS(label), sizeof(type), WIRE_BLOCK_ROWS, 0, \
			offsetof(struct profile, member)                         \
	}

IN_PLACE("file information", WIRE_TAG_INFO, info, struct columns_info, 0, 1);
IN_PLACE("totals", WIRE_TAG_TOTALS, totals, struct profile_totals, offsetof(struct profile, totals),
	 1);
#define map_totals_columns totals_columns
IN_PLACE("totals of maps", WIRE_TAG_MAP_TOTALS, map_totals, struct profile_totals,
	 offsetof(struct profile, map_totals), 1);
IN_PLACE("run", WIRE_TAG_RUN, run, struct profile_run, offsetof(struct profile, run), 1);
IN_PLACE("size histogram", WIRE_TAG_SIZES, sizes, struct profile_bucket,
	 offsetof(struct profile, sizes), PROFILE_SIZE_BUCKETS);
IN_PLACE("lifetime histogram", WIRE_TAG_LIVES, lives, uint64_t,
	 offsetof(struct profile, size_by_life), PROFILE_SIZE_BUCKETS *PROFILE_LIFE_BUCKETS);

const struct table columns_events = {WIRE_TAG_TRACE,
				     "events",
				     COLUMNS(events),
				     sizeof(struct trace_event),
				     WIRE_BLOCK_ROWS,
				     0,
				     0};

const struct table columns_vecs[COLUMNS_VECS] = {
	[COLUMNS_TEXT] = {WIRE_TAG_TEXT, "string bytes", COLUMNS(text), 1, WIRE_TEXT_BLOCK, 0,
			  offsetof(struct profile, strings)},
	[COLUMNS_MODULES] =
		IN_VEC("modules", WIRE_TAG_MODULES, modules, struct profile_module, modules),
	[COLUMNS_NODES] = IN_VEC("stack nodes", WIRE_TAG_NODES, nodes, struct profile_node, nodes),
	[COLUMNS_FRAMES] = IN_VEC("frames", WIRE_TAG_FRAMES, frames, struct profile_frame, frames),
	[COLUMNS_SITES] = IN_VEC("sites", WIRE_TAG_SITES, sites, struct profile_site, sites),
	[COLUMNS_THREADS] =
		IN_VEC("threads", WIRE_TAG_THREADS, threads, struct profile_thread, threads),
	[COLUMNS_POINTS] =
		IN_VEC("points in time", WIRE_TAG_POINTS, points, struct profile_point, points),
	[COLUMNS_CHANGES] =
		IN_VEC("site changes", WIRE_TAG_CHANGES, changes, struct profile_change, changes),
	[COLUMNS_PARTS] =
		IN_VEC("shares of threads", WIRE_TAG_PARTS, parts, struct profile_part, parts),
	[COLUMNS_TRACE] =
		IN_VEC("trace blocks", WIRE_TAG_INDEX, blocks, struct profile_block, blocks),
	[COLUMNS_SNAPSHOTS] = IN_VEC("snapshots", WIRE_TAG_SNAPSHOTS, snapshots,
				     struct profile_snapshot, snapshots),
	[COLUMNS_TAGS] = IN_VEC("tags", WIRE_TAG_TAGS, tags, struct profile_tag, tags),
	[COLUMNS_MAP_KINDS] =
		IN_VEC("kinds of maps", WIRE_TAG_MAP_KINDS, sites, struct profile_site, map_kinds),
	[COLUMNS_MAP_SITES] =
		IN_VEC("maps", WIRE_TAG_MAP_SITES, sites, struct profile_site, map_sites),
	[COLUMNS_LOST] = IN_VEC("lost rows", WIRE_TAG_LOST, lost, struct profile_lost, lost),
	[COLUMNS_LINKS] = IN_VEC("links", WIRE_TAG_LINKS, links, struct profile_link, links),
	[COLUMNS_SURVEYS] =
		IN_VEC("looks at pages", WIRE_TAG_SURVEYS, surveys, struct profile_survey, surveys),
	[COLUMNS_PINS] = IN_VEC("sites with pages", WIRE_TAG_PINS, pins, struct profile_pin, pins),
	[COLUMNS_CELLS] =
		IN_VEC("pieces of page maps", WIRE_TAG_CELLS, cells, struct profile_cell, cells),
	[COLUMNS_TYPES] =
		IN_VEC("types of objects", WIRE_TAG_TYPES, types, struct profile_type, types),
	[COLUMNS_EXTENTS] = IN_VEC("resident pages of objects", WIRE_TAG_EXTENTS, extents,
				   struct profile_extent, extents),
	[COLUMNS_VARIABLES] = IN_VEC("variables", WIRE_TAG_VARIABLES, variables,
				     struct profile_variable, variables),
	[COLUMNS_DEPTHS] =
		IN_VEC("deepest frames", WIRE_TAG_DEPTHS, depths, struct profile_depth, depths),
	[COLUMNS_INPUTS] = IN_VEC("inputs", WIRE_TAG_INPUTS, inputs, struct profile_input, inputs),
};

const struct table *columns_find_table(uint32_t tag)
{
	static const struct table *const in_place[] = {
		&columns_totals, &columns_map_totals, &columns_run, &columns_sizes, &columns_lives};

	for (size_t i = 0; i < sizeof(in_place) / sizeof(in_place[0]); i++)
		if (in_place[i]->tag == tag)
			return in_place[i];
	for (size_t i = 0; i < COLUMNS_VECS; i++)
		if (columns_vecs[i].tag == tag)
			return &columns_vecs[i];
	return NULL;
}

const struct column *columns_find(const struct table *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		if (t->columns[i].id == id)
			return &t->columns[i];
	return NULL;
}
