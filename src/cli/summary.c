/* summary.c -- what `midden record` tells at the end, and while it runs. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "profile/profile.h"
#include "report/human.h"

#define NAMED_MOST 4u /* processes with lines of their own, if nothing is wrong with them */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

struct range {
	char text[96];
};

/* Where blocks were sampled: within what the figure lies. */
static struct range describe(uint64_t low, uint64_t high)
{
	struct range r = {""};

	if (low != high)
		(void)snprintf(r.text, sizeof(r.text), " (%s to %s)", human_bytes(low).text,
			       human_bytes(high).text);
	return r;
}

static void print_counts(const struct recording_report *r)
{
	message_print("%s allocation%s of %s, %s free%s in %s",
		      human_count(r->status.allocations).text, plural(r->status.allocations),
		      human_bytes(r->allocated_bytes).text, human_count(r->status.frees).text,
		      plural(r->status.frees), human_duration(r->duration_ns).text);
}

static void print_result(const struct recording_report *r)
{
	message_print(
		"maximum %s%s in %s block%s, leaked %s%s in %s block%s, %s allocation%s in %s",
		human_bytes(r->status.peak_bytes).text,
		describe(r->peak_low_bytes, r->peak_high_bytes).text,
		human_count(r->peak_blocks).text, plural(r->peak_blocks),
		human_bytes(r->leaked_bytes).text,
		describe(r->leaked_low_bytes, r->leaked_high_bytes).text,
		human_count(r->leaked_blocks).text, plural(r->leaked_blocks),
		human_count(r->status.allocations).text, plural(r->status.allocations),
		human_duration(r->duration_ns).text);
}

static void print_lost(const struct recording_report *r)
{
	if (r->tells_lost && r->lost_blocks)
		message_print("lost %s in %s; see `midden leaks %s`",
			      human_bytes(r->lost_bytes).text,
			      human_things(r->lost_blocks, "block").text, r->path);
	else if (r->tells_lost && !r->unseen[0])
		message_print("nothing lost");
	if (r->lost_fault[0])
		message_print("it cannot be told what is lost: %s", r->lost_fault);
}

static void print_notes(const struct recording_report *r, bool follow)
{
	if (r->end == PROFILE_END_SIGNALED)
		message_print("the program was killed by signal %" PRId32 " (%s)", r->exit_signal,
			      strsignal(r->exit_signal));
	if (r->is_hidden)
		message_print("the program defines malloc itself, so its allocations cannot be "
			      "seen");
	if (r->is_denied)
		message_print("process_vm_readv is not allowed here: stacks through coroutines and "
			      "signal handlers may end early");
	if (r->is_mute)
		message_print("no function said that it was entered: the program is not built with "
			      "-finstrument-functions, or has the functions for it built in; "
			      "stacks were unwound as usual");
	if (r->unseen[0])
		message_print("recording never began: %s", r->unseen);
	if (r->losses)
		message_print("some events or frames were lost: see `midden stats %s`", r->path);
	print_lost(r);
	if (r->trace_fault[0])
		message_print("%s: recorded without a trace", r->trace_fault);
	if (r->trace_lost)
		message_print("the trace misses the last %s: there was no room",
			      human_things(r->trace_lost, "event").text);
	if (r->end == PROFILE_END_EXEC)
		message_print("then the process replaced itself by another program");
	if (r->end == PROFILE_END_ABANDONED)
		message_print("the recording ended before the program did");
	if (r->children && !follow)
		message_print("%" PRIu32 " child process%s not recorded (use --follow)",
			      r->children, r->children == 1 ? " was" : "es were");
}

/* What was asked for besides is shown by other commands. */
static void print_more(const struct recording_report *r)
{
	if (r->has_surveys)
		message_print("which stacks keep which pages: `midden report --rss %s`", r->path);
	if (r->has_maps)
		message_print("what the program mapped itself: `midden report --maps %s`", r->path);
	if (r->snapshots)
		message_print("%s: `midden report --snapshots %s`",
			      human_things(r->snapshots, "snapshot").text, r->path);
}

static void count_profile(struct summary *s, const struct recording_report *r)
{
	const char *slash = strrchr(r->path, '/');
	char directory[PATH_MAX] = ".";

	if (slash)
		(void)snprintf(directory, sizeof(directory), "%.*s",
			       slash == r->path ? 1 : (int)(slash - r->path), r->path);
	if (s->profiles++ == 0)
		memcpy(s->directory, directory, sizeof(directory));
	else
		s->is_scattered |= strcmp(s->directory, directory) != 0;
}

/* What the user has to know whatever else is told. */
static bool has_warning(const struct recording_report *r)
{
	return r->end == PROFILE_END_SIGNALED || r->end == PROFILE_END_ABANDONED || r->is_hidden ||
	       r->is_denied || r->is_mute || r->unseen[0] || r->losses || r->lost_blocks ||
	       r->lost_fault[0] || r->trace_fault[0] || r->trace_lost || r->text[0];
}

/* A build has hundreds of processes, and lines on each of them would bury what it says itself. */
static bool is_told(const struct summary *s, const struct recording_report *r, bool is_program)
{
	return is_program || s->verbose || s->named < NAMED_MOST || has_warning(r);
}

void summary_print(struct summary *s, const struct recording_report *r, bool is_program)
{
	if (r->failed) {
		message_print("process %d: the profile is lost: %s", r->pid, r->text);
		return;
	}
	if (r->text[0])
		message_print("%s: written to %s instead", r->text, r->path);
	if (r->is_launcher || r->is_empty)
		return;
	count_profile(s, r);
	if (s->quiet || !is_told(s, r, is_program))
		return;
	s->named++;
	if (r->by_tag)
		print_counts(r);
	else
		print_result(r);
	print_notes(r, s->follow);
	message_print("wrote %s; see `midden %s %s`", r->path, r->by_tag ? "tags" : "report",
		      r->path);
	print_more(r);
}

void summary_print_all(const struct summary *s)
{
	unsigned unnamed = s->profiles - s->named;
	char rest[64] = "";

	if (s->quiet || s->profiles < 2)
		return;
	if (unnamed)
		(void)snprintf(rest, sizeof(rest), " (%u of them not named above)", unnamed);
	if (s->is_scattered)
		message_print("wrote %u profiles%s", s->profiles, rest);
	else
		message_print("wrote %u profiles%s; `midden report %s` shows all that are there as "
			      "one",
			      s->profiles, rest, s->directory);
}

void summary_print_idle(unsigned count)
{
	if (count)
		message_print("%u process%s allocated nothing and left no profile (--keep-empty "
			      "writes them)",
			      count, count == 1 ? "" : "es");
}

void summary_print_progress(const struct collect_status *s)
{
	(void)fprintf(stderr, "\rmidden: %s  live %s  maximum %s  %s\033[K",
		      human_duration(s->elapsed_ns).text, human_bytes(s->live_bytes).text,
		      human_bytes(s->peak_bytes).text,
		      human_things(s->allocations, "allocation").text);
}

void summary_end_progress(void)
{
	(void)fputs("\r\033[K", stderr);
}
