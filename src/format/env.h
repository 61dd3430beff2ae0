/* env.h -- the environment variables that `midden record` sets and the library or collector
 * reads. Pure contract; one variable per `record` option, so that plain preloading can do what
 * the command does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_FORMAT_ENV_H
#define MIDDEN_FORMAT_ENV_H

#define ENV_PREFIX "MIDDEN_"

/* Read by the library in the target. */
#define ENV_MODE "MIDDEN_MODE" /* exact (default) | sample | tags | off */
/* path of the recorder's socket; set by `record`, not by users */
#define ENV_SOCKET "MIDDEN_SOCKET"
/* PID.NUMBER; handed on by the library to itself through an exec, not set by users */
#define ENV_IMAGE   "MIDDEN_IMAGE"
#define ENV_COMMAND "MIDDEN_COMMAND" /* path of the midden command; default: beside the library */
#define ENV_FOLLOW  "MIDDEN_FOLLOW"  /* 1: record child processes too */

/* Read by the collector that the library starts. */
/* what MIDDEN_MODE was for the target; set by the library, not by users */
#define ENV_TARGET_MODE	    "MIDDEN_TARGET_MODE"
#define ENV_OUTPUT	    "MIDDEN_OUTPUT"	/* FILE; %p pid, %n program, %h host, %% */
#define ENV_MAX_DEPTH	    "MIDDEN_MAX_DEPTH"	/* frames per stack, 512 */
#define ENV_BUFFER	    "MIDDEN_BUFFER"	/* bytes of event buffers in the segment, 4M */
#define ENV_SYMBOLS	    "MIDDEN_SYMBOLS"	/* 0: leave symbols to `midden report` */
#define ENV_PYTHON	    "MIDDEN_PYTHON"	/* mixed (default) | only | full | domains | off */
#define ENV_PYMALLOC	    "MIDDEN_PYMALLOC"	/* sampled (default) | exact | off */
#define ENV_TRACE	    "MIDDEN_TRACE"	/* 1: keep every event in the profile */
#define ENV_MAPS	    "MIDDEN_MAPS"	/* 1: record what the program maps itself */
#define ENV_LEAKS	    "MIDDEN_LEAKS"	/* 1: tell what is lost when the program exits */
#define ENV_RSS		    "MIDDEN_RSS"	/* 1: look at what keeps pages resident */
#define ENV_STACK_MODE	    "MIDDEN_STACK_MODE" /* unwind, enter-exit */
#define ENV_STACKS	    "MIDDEN_STACKS"	/* 1: see how deep the stacks of threads were */
#define ENV_START	    "MIDDEN_START"	/* 0: the program switches the recording on */
#define ENV_START_AT	    "MIDDEN_START_AT"	/* function=NAME or library=NAME */
#define ENV_SNAPSHOT_EVERY  "MIDDEN_SNAPSHOT_EVERY"  /* seconds */
#define ENV_SNAPSHOT_AT	    "MIDDEN_SNAPSHOT_AT"     /* rss=SIZE,live=SIZE, ... */
#define ENV_SNAPSHOT_SIGNAL "MIDDEN_SNAPSHOT_SIGNAL" /* name or number */
/* with MIDDEN_MODE=sample: mean bytes from one sample to the next, 512K; the most of them that may
 * be alive; what their choice begins with, for runs that can be repeated */
#define ENV_SAMPLE	  "MIDDEN_SAMPLE"
#define ENV_SAMPLE_BLOCKS "MIDDEN_SAMPLE_BLOCKS"
#define ENV_SAMPLE_SEED	  "MIDDEN_SAMPLE_SEED"
#define ENV_PATIENCE	  "MIDDEN_PATIENCE" /* ms to wait for a silent collector, 2000 */

/* 0: look for what is lost without a copy of the program, which is stopped for longer; for the
 * careful. 1: with a copy, however small it is; later: its memory is read while it is stopped and
 * looked at afterwards; now: looked at while it is stopped; for tests */
#define ENV_TWIN "MIDDEN_TWIN"
/* ms per GB that a look may read while the program is stopped, and no minimum besides; behind a
 * comma, ms that any program may be stopped for in place of 100; for tests */
#define ENV_STOP_LIMIT "MIDDEN_STOP_LIMIT"

#define ENV_HTTP       "MIDDEN_HTTP" /* 1, PORT or ADDRESS:PORT: answer questions over HTTP */
/* FILE with the token that such questions must have; without it, a random one is told */
#define ENV_HTTP_TOKEN_FILE "MIDDEN_HTTP_TOKEN_FILE"

#endif
