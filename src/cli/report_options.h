/* report_options.h -- the options of `midden report`, read into what they ask for. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_REPORT_OPTIONS_H
#define MIDDEN_CLI_REPORT_OPTIONS_H

#include "cli/options.h"
#include "report/sheet.h"

/* Zero-initialise, then report_options_parse; free with report_options_free. */
struct report_options {
	struct options shared;
	struct sheet
		sheet; /* its view's moments, filter and rules are set by report_options_apply */
	struct moment_name times[2]; /* live: the second; growth: both */
	struct filter filter;
	bool by_thread;	    /* --by thread */
	const char *rss_at; /* NULL: the last look */
	bool by_given;
	bool cumulative; /* --snapshot-deltas=cumulative */
};

extern const char report_options_help[];

/* Reads the command line; optind is then at the file. COMMAND_GOOD, or another status after a
 * message. */
int report_options_parse(struct report_options *o, int argc, char **argv);
void report_options_free(struct report_options *o);

/* Settles what needs the profile: times, threads. 0, or -1 with `e`. */
int report_options_apply(struct report_options *o, const struct profile *p, struct error *e);

#endif
