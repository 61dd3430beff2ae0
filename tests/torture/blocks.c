/* blocks.c -- the blocks that live, shared by all threads, and random acts on them.
 * Runs: any thread of the torture program, signal handlers too.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who works on an entry owns it until he is done; nobody ever waits for one, so a handler that
 * interrupts an owner, or a fork beside one, only finds it taken. */
#include "torture.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES	   2048u
#define TEXT_BYTES 4096u

struct entry {
	atomic_flag taken;
	bool foreign; /* allocated before the fork that made this process */
	uint8_t site, how;
	size_t bytes, alignment;
	void *block;
};

static struct entry entries[ENTRIES];
static char letters[TEXT_BYTES];

void blocks_open(void)
{
	memset(letters, 'a', sizeof(letters) - 1);
}

void blocks_forget_all(void)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		entries[i].foreign = entries[i].block != NULL;
}

static struct entry *take(struct chance *chance)
{
	for (int i = 0; i < 8; i++) {
		struct entry *entry = &entries[chance_below(chance, ENTRIES)];

		if (!atomic_flag_test_and_set_explicit(&entry->taken, memory_order_acquire))
			return entry;
	}
	return NULL;
}

static void put(struct entry *entry)
{
	atomic_flag_clear_explicit(&entry->taken, memory_order_release);
}

/* Mostly small, now and then large enough for a mapping of its own. */
static size_t draw_bytes(struct chance *chance)
{
	uint64_t kind = chance_below(chance, 100);

	if (kind < 2)
		return 0;
	if (kind < 80)
		return 1 + chance_below(chance, 256);
	if (kind < 98)
		return 1 + chance_below(chance, 8192);
	return 1 + chance_below(chance, 400000);
}

static struct ask draw_ask(struct chance *chance)
{
	struct ask ask = {.how = (enum how)chance_below(chance, HOW_PLAIN),
			  .bytes = draw_bytes(chance),
			  .alignment = (size_t)16 << chance_below(chance, 6)};

	switch (ask.how) {
	case HOW_ALIGNED_ALLOC: /* the standard wants a multiple, and some allocators insist */
		ask.bytes = (ask.bytes / ask.alignment + 1) * ask.alignment;
		break;
	case HOW_STRDUP:
	case HOW_STRNDUP:
		ask.bytes = 1 + ask.bytes % (TEXT_BYTES - 1);
		ask.text = letters + TEXT_BYTES - ask.bytes;
		break;
	case HOW_MEMALIGN:
	case HOW_POSIX_MEMALIGN:
	case HOW_REALLOC_NULL:
		ask.bytes += ask.bytes == 0;
		break;
	default:
		break;
	}
	return ask;
}

static void fill(struct entry *entry)
{
	if (entry->bytes)
		memset(entry->block, entry->site, entry->bytes < 64 ? entry->bytes : 64);
}

/* What was written is still there: nobody else was given the same block. */
static void check_filled(const struct entry *entry)
{
	const unsigned char *at = entry->block;

	for (size_t i = 0; i < entry->bytes && i < 64; i++) {
		if (at[i] != entry->site)
			torture_die("a block does not hold what was written into it");
	}
}

static void release(struct entry *entry)
{
	unsigned site = entry->site;
	size_t bytes = entry->bytes;

	check_filled(entry);
	if (entry->foreign) {
		count_begin(&account_image->foreign, 1);
	} else {
		account_gone_begin(site, bytes);
		if (habits.calm)
			account_note_temporary(entry->block);
	}
	if (entry->how < HOW_NEW)
		free(entry->block);
	else
		sites_delete(entry->block, (enum how)entry->how, entry->alignment);
	if (entry->foreign)
		count_end(&account_image->foreign, 1);
	else
		account_gone_end(site, bytes);
	entry->block = NULL;
	entry->foreign = false;
}

static void allocate(struct entry *entry, site_function *function, unsigned site,
		     const struct ask *ask)
{
	account_begin(site, ask->bytes);
	entry->block = function(ask);
	account_got(site, entry->block, ask->bytes);
	entry->site = (uint8_t)site;
	entry->how = (uint8_t)ask->how;
	entry->bytes = ask->bytes;
	entry->alignment = ask->alignment;
	entry->foreign = false;
	if (!entry->block)
		torture_die("no memory");
	fill(entry);
}

static void allocate_anywhere(struct entry *entry, struct chance *chance)
{
	struct ask ask = draw_ask(chance);

	if (chance_below(chance, 5) == 0) {
		unsigned site = (unsigned)chance_below(chance, SITES_CXX);

		ask.how = HOW_NEW + (enum how)chance_below(chance, 4);
		/* libstdc++ asks malloc for a byte at least, and for a multiple of an alignment. */
		ask.bytes = ask.how == HOW_NEW_ALIGNED
				    ? (ask.bytes / ask.alignment + 1) * ask.alignment
				    : ask.bytes + 1;
		allocate(entry, sites_cxx[site], SITE_CXX + site, &ask);
	} else {
		unsigned site = (unsigned)chance_below(chance, SITES_PLAIN);

		allocate(entry, sites_plain[site], site, &ask);
	}
}

/* Resizing an inherited block is a foreign free and a first allocation, and not in the account. */
static void resize(struct entry *entry, struct chance *chance)
{
	unsigned site = (unsigned)chance_below(chance, SITES_PLAIN), old_site = entry->site;
	size_t old_bytes = entry->bytes, bytes = draw_bytes(chance) + 1;
	struct ask ask = {.how = HOW_REALLOC + (enum how)chance_below(chance, 2),
			  .bytes = bytes,
			  .old = entry->block};
	struct site_account *account = &account_image->site[site];

	check_filled(entry);
	account_begin(site, bytes);
	count_begin(&account->reallocations, 1);
	account_gone_begin(old_site, old_bytes);
	entry->block = sites_plain[site](&ask);
	account_gone_end(old_site, old_bytes);
	count_end(&account->reallocations, 1);
	account_got(site, entry->block, bytes);
	if (!entry->block)
		torture_die("no memory");
	entry->site = (uint8_t)site;
	entry->how = HOW_REALLOC;
	entry->bytes = bytes;
	fill(entry);
}

/* More than there is: NULL, and nothing else happens. */
static void fail(struct entry *entry, struct chance *chance)
{
	struct ask ask = {.how = HOW_MALLOC, .bytes = (size_t)PTRDIFF_MAX - 4096, .alignment = 16};
	unsigned site = (unsigned)chance_below(chance, SITES_PLAIN);

	if (entry->block && !entry->foreign && entry->how <= HOW_REALLOCARRAY) {
		ask.how = HOW_REALLOC;
		ask.old = entry->block;
	}
	count_begin(&account_image->failed, 1);
	if (sites_plain[site](&ask))
		torture_die("a block of half the address space");
	count_end(&account_image->failed, 1);
}

void blocks_make(struct chance *chance, site_function *function, unsigned site)
{
	struct entry *entry = take(chance);
	struct ask ask = draw_ask(chance);

	if (!entry)
		return;
	if (entry->block)
		release(entry);
	allocate(entry, function, site, &ask);
	put(entry);
}

void blocks_act(struct chance *chance)
{
	struct entry *entry = take(chance);
	uint64_t kind = chance_below(chance, 1000);

	if (!entry)
		return;
	if (kind < 3 && !habits.anywhere)
		fail(entry, chance);
	else if (entry->block && kind < 300 && !entry->foreign && entry->how <= HOW_REALLOCARRAY)
		resize(entry, chance);
	else if (entry->block)
		release(entry);
	else
		allocate_anywhere(entry, chance);
	if (entry->block && kind >= 900)
		release(entry);
	put(entry);
}
