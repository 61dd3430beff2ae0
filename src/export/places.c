/* places.c -- frames as valgrind's tools write them. Runs: offline, called by the formats of
 * valgrind's tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "export/places.h"

#include <inttypes.h>

#include "export/labels.h"

/* What stands behind the function, in parentheses; "" if nothing is known. */
static char *format_source(const struct model_frame *f)
{
	if (*f->file && f->line)
		return mem_format(" (%s:%" PRIu32 ")", labels_base(f->file), f->line);
	if (*f->file)
		return mem_format(" (%s)", labels_base(f->file));
	return *f->module ? mem_format(" (in %s)", f->module) : mem_copy_string("");
}

char *places_format(const struct model_frame *f, const char *replaced)
{
	char *source = format_source(f);
	char *plain = mem_format("0x%" PRIX64 ": %s%s", f->seen_at,
				 *f->function ? f->function : "???", source);
	char *clean = labels_clean(plain, replaced);

	free(source);
	free(plain);
	return clean;
}
