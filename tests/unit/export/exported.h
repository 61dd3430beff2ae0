/* exported.h -- what a format makes of a profile, caught in memory. Runs: in unit tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_EXPORTED_H
#define MIDDEN_TESTS_EXPORTED_H

#include <stdio.h>
#include <stdlib.h>

#include "export/export.h"

#include "../model/sample.h"

struct exported {
	char *text; /* followed by a NUL */
	size_t bytes;
};

static inline int exported_try(struct exported *x, const struct export_format *f,
			       const struct profile *p, const struct export_request *how)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);
	struct export_request r = *how;
	struct error e = {.offset = -1};

	*x = (struct exported){0};
	FILE *out = open_memstream(&x->text, &x->bytes);
	assert_non_null(out);
	r.model = m;
	int status = f->write(out, &r, &e);
	assert_int_equal(status != 0, e.set);
	assert_int_equal(fclose(out), 0);
	model_free(m);
	return status;
}

/* Exports one figure and frees the profile. Free the text. */
static inline struct exported exported_make(const char *format, struct profile *p,
					    enum figure figure)
{
	const struct export_format *f = export_find(format);
	struct export_request how = {.figure = figure, .by_figure_given = true};
	struct exported x;

	assert_non_null(f);
	assert_int_equal(exported_try(&x, f, p, &how), 0);
	profile_free(p);
	return x;
}

static inline void exported_assert(const char *format, struct profile *p, enum figure figure,
				   const char *expected)
{
	struct exported x = exported_make(format, p, figure);

	assert_string_equal(x.text, expected);
	free(x.text);
}

#endif
