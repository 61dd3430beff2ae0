/* residency.c -- whose blocks keep which pages in memory. Runs: in a copy of the collector; pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/residency.h"

#include <string.h>

#define NO_PAGE	    UINT64_MAX
#define SMALL_SHARE 4u /* a small block takes at most a quarter of its page */

/* What a site has on the page at hand. */
struct share {
	uint32_t site;
	uint64_t bytes;
};

/* One pass over the blocks, page by page. */
struct pass {
	struct residency *out;
	const struct residency_input *in;
	uint64_t page; /* at hand; NO_PAGE: none yet */
	uint64_t live; /* bytes on it */
	uint64_t blocks;
	VEC(struct share) shares;
	/* Of each site: its place among the shares plus one, if the stamp is that of this page. */
	struct {
		uint32_t place;
		uint64_t page;
	} * seats;
	size_t run;	 /* the first one that ends beyond the page at hand */
	size_t cell;	 /* the same */
	uint64_t *votes; /* of each cell, for the site that leads in it */
};

/* ---- the page map ---------------------------------------------------------------------------- */

static uint64_t get_cell_end(const struct pass *p, size_t cell)
{
	const struct profile_cell *c = &p->out->cells.at[cell];

	return c->start + c->pages * p->in->page_bytes;
}

/* The part of an extent from its first page in memory to its last; the rest would only make cells
 * coarse. `run` is where to look on. */
static struct residency_extent get_trimmed(const struct residency_input *in,
					   const struct residency_extent *extent, size_t *run)
{
	struct residency_extent trimmed = {0, 0};

	while (*run < in->run_count && in->runs[*run].end <= extent->start)
		++*run;
	for (; *run < in->run_count && in->runs[*run].start < extent->end; ++*run) {
		trimmed.start = trimmed.end ? trimmed.start : in->runs[*run].start;
		trimmed.end = in->runs[*run].end;
	}
	return trimmed;
}

static size_t count_extents(const struct residency_input *in)
{
	return in->extent_count < RESIDENCY_EXTENTS_MOST ? in->extent_count
							 : RESIDENCY_EXTENTS_MOST;
}

static uint64_t get_cell_bytes(const struct residency_input *in)
{
	uint64_t pages = 0, each = 1;

	for (size_t i = 0, run = 0; i < count_extents(in); i++) {
		struct residency_extent e = get_trimmed(in, &in->extents[i], &run);

		pages += (e.end - e.start) / in->page_bytes;
	}
	while (pages / each > RESIDENCY_CELLS_MOST)
		each *= 2;
	return each * in->page_bytes;
}

static void make_cells(struct residency *r, const struct residency_input *in)
{
	uint64_t bytes = get_cell_bytes(in);

	for (size_t i = 0, run = 0; i < count_extents(in); i++) {
		struct residency_extent e = get_trimmed(in, &in->extents[i], &run);

		for (uint64_t at = e.start, end; at < e.end; at = end) {
			end = (at & ~(bytes - 1)) + bytes;
			end = end < e.end ? end : e.end;
			*vec_push(&r->cells) = (struct profile_cell){
				.start = at, .pages = (uint32_t)((end - at) / in->page_bytes)};
		}
	}
}

/* What of [start, end) lies in the cell, in bytes. */
static uint64_t get_common(const struct pass *p, size_t cell, const struct residency_extent *range)
{
	uint64_t start = p->out->cells.at[cell].start, end = get_cell_end(p, cell);

	start = range->start > start ? range->start : start;
	end = range->end < end ? range->end : end;
	return start < end ? end - start : 0;
}

/* The first cell that ends beyond an address, from this one on. */
static size_t find_cell(const struct pass *p, size_t cell, uint64_t address)
{
	while (cell < p->out->cells.count && get_cell_end(p, cell) <= address)
		cell++;
	return cell;
}

static bool reaches_cell(const struct pass *p, size_t cell, const struct residency_extent *range)
{
	return cell < p->out->cells.count && p->out->cells.at[cell].start < range->end;
}

/* Who has most of a cell: each site's bytes count against those of others, so that one that has
 * more than half of all is left in the end. */
static void vote(struct pass *p, size_t cell, uint32_t site, uint64_t bytes)
{
	struct profile_cell *c = &p->out->cells.at[cell];

	if (c->site == site + 1) {
		p->votes[cell] += bytes;
	} else if (p->votes[cell] >= bytes) {
		p->votes[cell] -= bytes;
	} else {
		c->site = site + 1;
		p->votes[cell] = bytes - p->votes[cell];
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static unsigned find_state(struct pass *p, uint64_t page)
{
	const struct pagemap_run *runs = p->in->runs;

	while (p->run < p->in->run_count && runs[p->run].end <= page)
		p->run++;
	return p->run < p->in->run_count && runs[p->run].start <= page ? runs[p->run].state : 0;
}

/* Pages that are held by live blocks. */
static void hold(struct pass *p, const struct residency_extent *range, unsigned state)
{
	struct profile_survey *t = &p->out->totals;

	t->held_bytes += range->end - range->start;
	if (state & RESIDENCY_FOREIGN)
		t->resident_bytes += range->end - range->start;
	p->cell = find_cell(p, p->cell, range->start);
	for (size_t i = p->cell; reaches_cell(p, i, range); i++)
		p->out->cells.at[i].held_pages +=
			(uint32_t)(get_common(p, i, range) / p->in->page_bytes);
}

/* The page's dead bytes go to the sites by their live ones; by sums so far, so that nothing is lost
 * in rounding. */
static void split_page(struct pass *p)
{
	uint64_t page_bytes = p->in->page_bytes;
	uint64_t dead = p->live < page_bytes ? page_bytes - p->live : 0;
	uint64_t before = 0, sum = 0;
	bool lone = p->blocks == 1 && p->live <= page_bytes / SMALL_SHARE;

	for (size_t i = 0; i < p->shares.count; i++) {
		const struct share *s = &p->shares.at[i];
		struct profile_pin *pin = &p->out->pins.at[s->site];

		sum += s->bytes;
		uint64_t pinned = dead * sum / p->live - before;
		before += pinned;
		pin->resident_bytes += s->bytes + pinned;
		pin->pinned_bytes += pinned;
		pin->lone_pages += lone;
		if (p->shares.count == 1)
			pin->sole_bytes += page_bytes;
	}
	p->out->totals.pinned_bytes += dead;
	p->out->totals.touched_bytes += p->live;
	p->out->totals.lone_pages += lone;
}

static void vote_for_page(struct pass *p)
{
	if (p->cell >= p->out->cells.count || p->out->cells.at[p->cell].start > p->page)
		return;
	p->out->cells.at[p->cell].live_bytes += p->live;
	for (size_t i = 0; i < p->shares.count; i++)
		vote(p, p->cell, p->shares.at[i].site, p->shares.at[i].bytes);
}

static void close_page(struct pass *p)
{
	const struct residency_extent range = {p->page, p->page + p->in->page_bytes};
	unsigned state = p->blocks ? find_state(p, p->page) : 0;

	if (state & PAGEMAP_RESIDENT) {
		split_page(p);
		hold(p, &range, state);
		vote_for_page(p);
	} else if (state & PAGEMAP_SWAPPED) {
		p->out->totals.swapped_live_bytes += p->live;
	} else {
		p->out->totals.untouched_bytes += p->live;
	}
	p->live = p->blocks = 0;
	p->shares.count = 0;
}

static void open_page(struct pass *p, uint64_t page)
{
	if (page == p->page)
		return;
	close_page(p);
	p->page = page;
}

static void add_share(struct pass *p, uint32_t site, uint64_t bytes)
{
	if (p->seats[site].page != p->page) {
		p->seats[site].page = p->page;
		p->seats[site].place = (uint32_t)p->shares.count;
		*vec_push(&p->shares) = (struct share){.site = site};
	}
	p->shares.at[p->seats[site].place].bytes += bytes;
	p->live += bytes;
	p->blocks++;
}

/* Pages that one block fills. */
static void fill_pages(struct pass *p, uint32_t site, const struct residency_extent *range)
{
	struct profile_survey *t = &p->out->totals;
	struct profile_pin *pin = &p->out->pins.at[site];
	uint64_t untouched = range->end - range->start;

	(void)find_state(p, range->start);
	for (size_t i = p->run; i < p->in->run_count && p->in->runs[i].start < range->end; i++) {
		const struct pagemap_run *run = &p->in->runs[i];
		const struct residency_extent part = {
			run->start > range->start ? run->start : range->start,
			run->end < range->end ? run->end : range->end};
		uint64_t bytes = part.end - part.start;

		untouched -= bytes;
		if (!(run->state & PAGEMAP_RESIDENT)) {
			t->swapped_live_bytes += bytes;
			continue;
		}
		pin->resident_bytes += bytes;
		pin->sole_bytes += bytes;
		t->touched_bytes += bytes;
		hold(p, &part, run->state);
		for (size_t c = p->cell; reaches_cell(p, c, &part); c++) {
			p->out->cells.at[c].live_bytes += get_common(p, c, &part);
			vote(p, c, site, get_common(p, c, &part));
		}
	}
	t->untouched_bytes += untouched;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block of no bytes holds its page like any other. What an earlier block covers already (one
 * whose free was not seen) is not counted again. */
static uint64_t add_block(struct pass *p, const struct placed *block, uint64_t covered)
{
	uint64_t mask = p->in->page_bytes - 1;
	uint64_t start = block->ptr > covered ? block->ptr : covered;
	uint64_t end = block->ptr + (block->size ? block->size : 1);
	struct profile_pin *pin = &p->out->pins.at[block->site];

	pin->live_bytes += block->size;
	pin->live_blocks++;
	if (end <= start) /* covered, or nonsense */
		return covered;
	uint64_t first = start & ~mask, last = (end - 1) & ~mask;
	open_page(p, first);
	if (first == last) {
		add_share(p, block->site, end - start);
		return end;
	}
	add_share(p, block->site, first + mask + 1 - start);
	close_page(p);
	const struct residency_extent inside = {first + mask + 1, last};
	if (inside.start < inside.end)
		fill_pages(p, block->site, &inside);
	open_page(p, last);
	add_share(p, block->site, end - last);
	return end;
}

static void add_runs(struct pass *p)
{
	struct profile_survey *t = &p->out->totals;
	size_t cell = 0;

	for (size_t i = 0; i < p->in->run_count; i++) {
		const struct pagemap_run *run = &p->in->runs[i];
		const struct residency_extent range = {run->start, run->end};
		uint64_t bytes = run->end - run->start;

		cell = find_cell(p, cell, run->start);
		for (size_t c = cell; run->state & PAGEMAP_RESIDENT && reaches_cell(p, c, &range);
		     c++)
			p->out->cells.at[c].resident_pages +=
				(uint32_t)(get_common(p, c, &range) / p->in->page_bytes);
		if (run->state & RESIDENCY_FOREIGN)
			continue;
		t->resident_bytes += run->state & PAGEMAP_RESIDENT ? bytes : 0;
		t->swapped_bytes += run->state & PAGEMAP_SWAPPED ? bytes : 0;
		t->huge_bytes += run->state & PAGEMAP_HUGE ? bytes : 0;
	}
}

static void add_up(struct residency *r)
{
	for (size_t i = 0; i < r->pins.count; i++) {
		r->totals.live_bytes += r->pins.at[i].live_bytes;
		r->totals.live_blocks += r->pins.at[i].live_blocks;
	}
	r->totals.free_bytes = r->totals.resident_bytes - r->totals.held_bytes;
}

void residency_join(struct residency *r, const struct residency_input *in)
{
	struct pass p = {.out = r, .in = in, .page = NO_PAGE};
	uint64_t covered = 0;

	p.seats = mem_new(in->site_count + 1, sizeof(p.seats[0]));
	for (uint32_t i = 0; i < in->site_count; i++)
		p.seats[i].page = NO_PAGE; /* 0 is one, in a hostile target's tale */
	vec_reserve(&r->pins, in->site_count);
	for (uint32_t i = 0; i < in->site_count; i++)
		*vec_push(&r->pins) = (struct profile_pin){.site = i};
	make_cells(r, in);
	p.votes = mem_new(r->cells.count + 1, sizeof(p.votes[0]));
	add_runs(&p);
	for (size_t i = 0; i < in->blocks->blocks.count; i++)
		covered = add_block(&p, &in->blocks->blocks.at[i], covered);
	close_page(&p);
	add_up(r);
	vec_free(&p.shares);
	free(p.seats);
	free(p.votes);
}

void residency_fini(struct residency *r)
{
	vec_free(&r->pins);
	vec_free(&r->cells);
}
