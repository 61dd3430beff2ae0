/* page.h -- catches what a report prints, to compare it. Runs: in unit tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_PAGE_H
#define MIDDEN_TESTS_PAGE_H

#include <stdio.h>
#include <stdlib.h>

struct page {
	FILE *out;
	char *text;
	size_t bytes;
};

static inline void page_open(struct page *p)
{
	*p = (struct page){0};
	p->out = open_memstream(&p->text, &p->bytes);
	assert_non_null(p->out);
}

/* Everything printed so far; valid until page_close. */
static inline const char *page_text(struct page *p)
{
	fflush(p->out);
	return p->text;
}

static inline void page_close(struct page *p)
{
	fclose(p->out);
	free(p->text);
}

static inline void page_assert(struct page *p, const char *expected)
{
	assert_string_equal(page_text(p), expected);
	page_close(p);
}

/* True if python3 reads the page as JSON; where there is no python3 it takes our word for it. */
static inline bool page_is_json(struct page *p)
{
	if (system("command -v python3 >/dev/null 2>&1") != 0)
		return true;
	FILE *reader = popen("python3 -m json.tool >/dev/null", "w");
	assert_non_null(reader);
	fputs(page_text(p), reader);
	return pclose(reader) == 0;
}

#endif
