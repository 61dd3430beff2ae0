/* recording.h -- one recorded process: from its hello to its profile file.
 * Runs: in a collector process, forked by `midden record` or started by the library as `midden
 * collect`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_RECORDING_H
#define MIDDEN_CLI_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "cli/beginning.h"
#include "cli/choice.h"
#include "cli/servant.h"
#include "cli/triggers.h"
#include "collect/collect.h"
#include "format/segment.h"

/* What `record` takes as options and plain preloading as variables (format/env.h). */
struct recording_options {
	const char *output; /* pattern, or NULL for midden.PROGRAM.PID.mdn */
	struct collect_config collect;
	bool symbols;
	bool progress;
	bool symbol_progress; /* tell how the look-up of symbols goes */
	bool trace;	      /* keep every event */
	bool pymalloc_chosen; /* by the user */
	bool keep_empty;      /* profiles of children that did nothing too */
	struct servant_options http;
	struct trigger_options triggers;
	struct beginning beginning; /* what it waits for */
	struct choice choice;	    /* which processes */
	bool is_script; /* the program named is a script: its file holds the last image, not the
			   first */
};

/* The defaults, then what the environment says. -1 with `e` for a value that makes no sense. */
int recording_options_init(struct recording_options *options, struct error *e);

/* Setters for one option's text; -1 with `e`. */
int recording_set_max_depth(struct recording_options *options, const char *text, struct error *e);
int recording_set_buffer(struct recording_options *options, const char *text, struct error *e);
int recording_set_patience(struct recording_options *options, const char *text, struct error *e);
int recording_set_mode(struct recording_options *options, const char *text, struct error *e);
int recording_set_python(struct recording_options *options, const char *text, struct error *e);
int recording_set_stack_mode(struct recording_options *options, const char *text, struct error *e);
int recording_set_pymalloc(struct recording_options *options, const char *text, struct error *e);

/* Samples instead of recording every block; NULL: with the period that is set. */
int recording_set_sample(struct recording_options *options, const char *text, struct error *e);
int recording_set_sample_blocks(struct recording_options *options, const char *text,
				struct error *e);
int recording_set_sample_seed(struct recording_options *options, const char *text, struct error *e);

/* Whether the options fit together; completes them. -1 with `e`. */
int recording_options_finish(struct recording_options *options, struct error *e);

/* What a collector tells the recorder, through a pipe: a status now and then, how far the look-up
 * of symbols has come, and one result. */
struct recording_report {
	uint32_t is_result;
	int32_t pid;
	uint32_t failed;      /* `text` says why */
	uint32_t is_launcher; /* a script's interpreter that made way for another program: not kept
			       */
	uint32_t end;	      /* enum profile_end */
	int32_t exit_signal;  /* if a signal was the end */
	struct collect_status status;
	uint64_t leaked_bytes;
	uint64_t leaked_blocks;
	uint64_t peak_blocks;
	uint64_t losses;
	uint64_t duration_ns;
	uint32_t children;
	uint32_t by_tag;   /* counted by tag: no peak, no leaks */
	uint32_t is_empty; /* a child that did nothing: not kept */
	/* Within what the most and what is left lie, where blocks were sampled; the same: it is
	 * sure. */
	uint64_t peak_low_bytes, peak_high_bytes;
	uint64_t leaked_low_bytes, leaked_high_bytes;
	uint64_t snapshots;
	uint32_t has_surveys; /* there are answers to `report --rss` */
	uint32_t has_maps;
	char unseen[256]; /* why recording never began, if it did not */
	uint64_t allocated_bytes;
	uint32_t is_mute;    /* functions were to say that they are entered, and none has */
	uint32_t is_denied;  /* the target may not read stacks other than its threads' own */
	uint32_t is_hidden;  /* nothing was recorded: the program has a malloc of its own */
	uint64_t trace_lost; /* events that the trace misses */
	uint32_t is_unnamed; /* symbols are left to the recorder */
	uint64_t symbols_done;
	uint64_t symbols_total; /* 0: it is not about symbols */
	char path[PATH_MAX];
	char text[512];
	uint32_t tells_lost; /* what is lost was found out: */
	uint64_t lost_bytes;
	uint64_t lost_blocks;
	char lost_fault[512];  /* why it could not be told what is lost though that was wanted */
	char trace_fault[512]; /* why there is no trace though one was wanted */
};

/* What the recorder, its parent, knows of the program after its end. */
struct recording_ending {
	int wait_status;
	uint64_t rss_peak_bytes;
	char name[SEGMENT_NAME_BYTES]; /* of its main thread; "": not known */
};

/* How the collector learns what became of the program and tells what it made of it. */
struct recording_wires {
	int connection;	 /* to the target, for the handshake; closed by recording_run */
	int status_in;	 /* a recording_ending is read here after the program's end; -1: nobody
			    knows it */
	int report_out;	 /* struct recording_report; -1: nobody listens */
	bool is_program; /* the process that the user named */
	bool has_namer;	 /* whoever listens looks up symbols: namer.h */
	struct timespec began; /* when the recorder did, by the real-time clock */
	uint32_t image; /* 1, and one more each time the process becomes another program by exec */
};

#define RECORDING_NAME "midden-collect" /* of a collector process, as others see it */

/* Makes this process a collector that nobody minds: its own process group, signals of the terminal
 * ignored, standard descriptors on /dev/null (a reader of the program's output waits for the last
 * writer to close). */
void recording_isolate(void);

/* Reads the target's hello. -1: not one. */
int recording_take_hello(int connection, struct segment_hello *hello);

/* Tells a target that it is not to be recorded. */
void recording_refuse(int connection);

/* Records the process until it ends and writes its profile; the report has the outcome. 0 or -1. */
int recording_run(const struct recording_options *options, const struct segment_hello *hello,
		  const struct recording_wires *wires);

/* What the name of a profile is made of. */
struct recording_subject {
	const char *program;
	pid_t pid;
	struct rank rank;
	bool is_program; /* the process that the user named */
	uint32_t image;	 /* as in the wires */
};

/* The file name for a process: the pattern with %p, %n, %h, %r, %% replaced, or the default name.
 * A pattern that does not have them gets the rank added, and the pid of all but the program itself;
 * `image` > 1 is added too. malloc'ed. */
char *recording_output_name(const char *pattern, const struct recording_subject *subject);

/* Whether a profile can be written there, as far as that can be told before its name is known;
 * makes the directory if that alone is missing. Otherwise -1 and `e`. */
int recording_check_output(const char *pattern, struct error *e);

#endif
