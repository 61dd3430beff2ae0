/* style.h -- what the reader's terminal can do; decided by cli, obeyed by the reports.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_STYLE_H
#define MIDDEN_REPORT_STYLE_H

#include <stdbool.h>

/* All zero is right for a pipe or a file in an unknown locale. */
struct style {
	bool utf8;
	bool colour;
	unsigned width; /* columns of a terminal; 0: no limit, nothing is ever shortened */
};

enum style_ink {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_NAME,
	STYLE_PLACE,
	STYLE_QUIET,
	STYLE_WARNING,
	STYLE_INKS
};

/* The escape sequence that switches to an ink, or "" without colour. */
static inline const char *style_ink(const struct style *s, enum style_ink ink)
{
	static const char *const codes[STYLE_INKS] = {
		[STYLE_PLAIN] = "\033[0m",  [STYLE_TITLE] = "\033[1m", [STYLE_NAME] = "\033[1m",
		[STYLE_PLACE] = "\033[36m", [STYLE_QUIET] = "\033[2m", [STYLE_WARNING] = "\033[33m",
	};

	return s->colour ? codes[ink] : "";
}

#endif
