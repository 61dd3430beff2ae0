/* histogram.c -- how large blocks were, and how long they lived, as bars or JSON. Runs: offline,
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/histogram.h"

#include "model/fields.h"
#include "report/human.h"

#define BAR_COLUMNS    32u
#define BAR_LEAST      8u
#define SIZES_WIDTH    64u
#define LIFETIME_WIDTH 48u

uint64_t histogram_get_min(unsigned bucket)
{
	return bucket ? UINT64_C(1) << (bucket - 1) : 0;
}

uint64_t histogram_get_max(unsigned bucket)
{
	return bucket < 64 ? (UINT64_C(1) << bucket) - 1 : UINT64_MAX;
}

static unsigned bar_columns(const struct style *style, unsigned taken)
{
	if (!style->width)
		return BAR_COLUMNS;
	return style->width > taken + BAR_LEAST ? style->width - taken : BAR_LEAST;
}

/* The longest bar is the whole width; what is not zero has at least one mark. */
static void print_bar(FILE *out, uint64_t count, uint64_t most, unsigned columns, bool utf8)
{
	uint64_t length = (uint64_t)((unsigned __int128)count * columns / most);

	if (length == 0 && count)
		length = 1;
	for (uint64_t i = 0; i < length; i++)
		fputs(utf8 ? "\xe2\x96\x88" : "#", out);
	fputc('\n', out);
}

static void print_title(FILE *out, const char *title, const struct style *style)
{
	fprintf(out, "%s%s%s\n", style_ink(style, STYLE_TITLE), title,
		style_ink(style, STYLE_PLAIN));
}

static void print_bucket(FILE *out, const struct profile_bucket *b, unsigned i)
{
	struct human below = {"and more"};

	if (i < 64)
		below = human_bytes(UINT64_C(1) << i);
	fprintf(out, "  %9s  %9s  %13s  %9s  %13s  ", human_bytes(histogram_get_min(i)).text,
		below.text, human_count(b->count).text, human_bytes(b->bytes).text,
		human_count(b->live_count).text);
}

void histogram_print_sizes(FILE *out, const struct profile *p, const struct style *style)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++)
		if (p->sizes[i].count > most)
			most = p->sizes[i].count;
	if (most == 0)
		return;
	print_title(out, "Sizes", style);
	fprintf(out, "  %9s  %9s  %13s  %9s  %13s\n", "from", "below", "allocations", "bytes",
		"leaked");
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		if (p->sizes[i].count == 0)
			continue;
		print_bucket(out, &p->sizes[i], i);
		print_bar(out, p->sizes[i].count, most, bar_columns(style, SIZES_WIDTH),
			  style->utf8);
	}
}

static uint64_t count_lived(const struct profile *p, unsigned life)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++)
		count += p->size_by_life[i][life];
	return count;
}

static void print_lived(FILE *out, unsigned i, uint64_t count, uint64_t all)
{
	struct human below = {"and more"};

	if (i < 64)
		below = human_duration(UINT64_C(1) << i);
	fprintf(out, "  %10s  %10s  %13s  %7s  ", human_duration(histogram_get_min(i)).text,
		below.text, human_count(count).text, human_share(count, all).text);
}

void histogram_print_lifetimes(FILE *out, const struct profile *p, const struct style *style)
{
	uint64_t most = p->totals.leaked_blocks, all = p->totals.leaked_blocks;

	for (unsigned i = 0; i < PROFILE_LIFE_BUCKETS; i++) {
		uint64_t count = count_lived(p, i);
		most = count > most ? count : most;
		all += count;
	}
	if (most == 0)
		return;
	print_title(out, "Lifetimes", style);
	fprintf(out, "  %10s  %10s  %13s  %7s\n", "from", "below", "blocks", "share");
	for (unsigned i = 0; i < PROFILE_LIFE_BUCKETS; i++) {
		uint64_t count = count_lived(p, i);
		if (count == 0)
			continue;
		print_lived(out, i, count, all);
		print_bar(out, count, most, bar_columns(style, LIFETIME_WIDTH), style->utf8);
	}
	if (p->totals.leaked_blocks == 0)
		return;
	fprintf(out, "  %10s  %10s  %13s  %7s  ", "not freed", "",
		human_count(p->totals.leaked_blocks).text,
		human_share(p->totals.leaked_blocks, all).text);
	print_bar(out, p->totals.leaked_blocks, most, bar_columns(style, LIFETIME_WIDTH),
		  style->utf8);
}

void histogram_add_sizes(struct json *j, const struct profile *p)
{
	uint64_t value;

	json_begin_list(j, "size_histogram");
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		if (p->sizes[i].count == 0)
			continue;
		json_begin_object(j, NULL);
		json_add_uint(j, "min", histogram_get_min(i));
		json_add_uint(j, "max", histogram_get_max(i));
		for (const struct field *f = fields_bucket; f->key; f++)
			if (fields_get(f, &p->sizes[i], &value))
				json_add_uint(j, f->key, value);
		json_end_object(j);
	}
	json_end_list(j);
}

void histogram_add_lifetimes(struct json *j, const struct profile *p)
{
	json_add_uint(j, "never_freed_blocks", p->totals.leaked_blocks);
	json_begin_list(j, "lifetime_histogram");
	for (unsigned i = 0; i < PROFILE_LIFE_BUCKETS; i++) {
		uint64_t count = count_lived(p, i);
		if (count == 0)
			continue;
		json_begin_object(j, NULL);
		json_add_uint(j, "min_ns", histogram_get_min(i));
		json_add_uint(j, "max_ns", histogram_get_max(i));
		json_add_uint(j, "count", count);
		json_end_object(j);
	}
	json_end_list(j);
}
