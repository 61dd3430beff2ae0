/* fuzz_pack.c -- absurd profiles as the viewer's page gets them: alone, and in one file.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses what goes with the profile, the rest fills its numbers (absurd.h). The
 * page trusts what it reads, so all that leads from one column to another is followed here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absurd.h"
#include "serve/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define HEADER_AT 16u
#define NONE	  UINT32_MAX

struct packed {
	char *bytes;
	size_t count;
	char *header; /* with a 0 behind it */
	const char *columns;
	size_t columns_bytes;
};

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* Where a column lies, in bytes of `size` each. */
static const void *find_column(const struct packed *p, const char *name, size_t size, size_t *count)
{
	char key[64];
	size_t at = 0;

	(void)snprintf(key, sizeof(key), "\"%s\":", name);
	const char *text = strstr(p->header, key);
	expect(text != NULL);
	const char *where = strstr(text, "\"at\":"), *many = strstr(text, "\"count\":");
	expect(where && many);
	at = strtoull(where + 5, NULL, 10);
	*count = strtoull(many + 8, NULL, 10);
	expect(at % 8 == 0 && at <= p->columns_bytes && *count <= (p->columns_bytes - at) / size);
	return p->columns + at;
}

/* Every number of a column leads to a row of `rows`, or is NONE where that is allowed. */
static void check_ids(const struct packed *p, const char *name, size_t rows, bool may_be_none)
{
	size_t count;
	const uint32_t *ids = find_column(p, name, sizeof(*ids), &count);

	for (size_t i = 0; i < count; i++)
		expect(ids[i] < rows || (may_be_none && ids[i] == NONE));
}

static void check_stacks(const struct packed *p, size_t frames)
{
	size_t nodes, count;
	const uint32_t *parents = find_column(p, "node.parent", sizeof(*parents), &nodes);

	expect(nodes >= 1 && parents[0] == 0);
	for (size_t i = 1; i < nodes; i++)
		expect(parents[i] < i);
	const uint32_t *of = find_column(p, "node.frame", sizeof(*of), &count);
	expect(count == nodes);
	for (size_t i = 1; i < nodes; i++)
		expect(of[i] < frames);
	check_ids(p, "site.node", nodes, false);
}

static void check_texts(const struct packed *p)
{
	size_t texts, bytes;
	const uint32_t *ends = find_column(p, "text.end", sizeof(*ends), &texts);

	(void)find_column(p, "text.bytes", 1, &bytes);
	for (size_t i = 0; i < texts; i++)
		expect(ends[i] >= (i ? ends[i - 1] : 0) && ends[i] <= bytes);
	static const char *const columns[] = {"frame.function", "frame.module", "frame.file",
					      "site.rule",	"thread.name",	"snapshot.name"};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		check_ids(p, columns[i], texts, false);
}

static void check_times(const struct packed *p)
{
	size_t points, sites;

	(void)find_column(p, "point.time_ns", sizeof(double), &points);
	(void)find_column(p, "site.node", sizeof(uint32_t), &sites);
	check_ids(p, "change.point", points, false);
	check_ids(p, "change.site", sites, false);
	check_ids(p, "part.site", sites, false);
}

static void check_pack(struct packed *p)
{
	uint64_t header;
	size_t frames;

	expect(p->count >= HEADER_AT && memcmp(p->bytes, "MDNPACK1", 8) == 0);
	memcpy(&header, p->bytes + 8, sizeof(header));
	expect(header % 8 == 0 && header <= p->count - HEADER_AT);
	p->header = strndup(p->bytes + HEADER_AT, header);
	expect(p->header && strlen(p->header) == header);
	p->columns = p->bytes + HEADER_AT + header;
	p->columns_bytes = p->count - HEADER_AT - header;
	(void)find_column(p, "frame.group", sizeof(uint32_t), &frames);
	check_ids(p, "frame.group", frames, false);
	check_ids(p, "site.own", frames, true);
	check_stacks(p, frames);
	check_texts(p);
	check_times(p);
	free(p->header);
}

static void pack(const struct pack_request *r)
{
	struct packed p = {0};
	struct error e = {0};
	FILE *out = open_memstream(&p.bytes, &p.count);

	expect(out && pack_write(out, r, &e) == 0 && !e.set && !ferror(out));
	expect(fclose(out) == 0);
	check_pack(&p);
	free(p.bytes);
}

static unsigned count_words(const char *text, const char *word)
{
	unsigned count = 0;

	for (; (text = strstr(text, word)); text++)
		count++;
	return count;
}

/* Nothing in a profile begins or ends an element: the page holds its own, and one for its data. */
static void check_elements(const char *text, unsigned packs)
{
	size_t bytes;
	const char *bare = page_get(&bytes);

	expect(count_words(text, "<script") == count_words(bare, "<script"));
	expect(count_words(text, "</script") == count_words(bare, "</script"));
	expect(count_words(text, "<data ") == count_words(bare, "<data ") + packs);
	expect(count_words(text, "</data>") == count_words(bare, "</data>") + packs);
}

static void write_page(const struct pack_request *r, bool twice)
{
	char *text = NULL;
	size_t bytes = 0;
	struct error e = {0};
	FILE *out = open_memstream(&text, &bytes);

	expect(out && page_write(out, r, twice ? r : NULL, &e) == 0 && !e.set);
	expect(fclose(out) == 0 && strlen(text) == bytes);
	check_elements(text, twice ? 2 : 1);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct model_options usual = {0};
	struct absurd_input in = {data, bytes};
	struct suppress_list rules = {0};
	struct error e = {0};
	uint8_t choice = absurd_take_byte(&in);
	struct profile *p = absurd_make(&in);

	if (profile_check(p, &e) == 0) {
		struct model *m = model_new(p, &usual);
		struct pack_request r = {.model = m,
					 .suppress = choice & 1 ? &rules : NULL,
					 .texts.stats =
						 choice & 2 ? "{\"a\": \"</script>\"}" : NULL,
					 .live = choice & 4,
					 .generation = choice};
		suppress_add_known(&rules);
		pack(&r);
		if (choice & 8)
			write_page(&r, choice & 16);
		suppress_free(&rules);
		model_free(m);
	}
	profile_free(p);
	return 0;
}
