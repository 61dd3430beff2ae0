/* unpack.c -- unpacks the compressed debug sections of a file, those that names are found by.
 * Runs: offline, on two threads; called by symbol.c before libdw sees the file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libdw would unpack all sections as soon as it is given a file, one after the other, with zlib:
 * 55 ms for libc's, and that is nearly all that the names of a small program take. */
#define _GNU_SOURCE
#include "symbol/unpack.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif
#include <zstd.h>

#define COMPRESSED_ZSTD 2u		  /* ELFCOMPRESS_ZSTD, newer than some elf.h */
#define RATIO_MOST	1100u		  /* of sizes: deflate stays below 1032 */
#define STACK_BYTES	((size_t)1 << 20) /* libc's choice would follow the program's limit */
#define SHARED_WORTH	(256u << 10)	  /* compressed: below, a thread does not pay */

/* What is little memory: unpacked, and as it is in the file, of which libdw takes a part again. */
#define MODEST_UNPACKED_BYTES (UINT64_C(64) << 20)
#define MODEST_BYTES	      (UINT64_C(512) << 20)

struct section {
	Elf_Scn *scn;
	const uint8_t *packed;
	size_t packed_bytes;
	uint8_t *bytes;
	size_t size_bytes;
	unsigned type;
	bool is_done;
};

struct work {
	VEC(struct section) sections; /* the largest first: what takes longest must not come last */
	pthread_mutex_t lock;
	size_t next;
};

/* ---- which sections -------------------------------------------------------------------------- */

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Where variables are, macros, unwinding, indices by name: a fifth of libc's debug information. */
static bool is_unread(const char *name)
{
	static const char *const prefixes[] = {".debug_loc", ".debug_mac", ".debug_pub",
					       ".debug_gnu_pub"};
	static const char *const names[] = {".debug_frame", ".debug_names"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* As if it had been taken out of the file: libdw goes by the type. */
static void hide(Elf_Scn *scn, GElf_Shdr *header)
{
	header->sh_type = SHT_NOBITS;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	(void)gelf_update_shdr(scn, header);
}

/* A hostile file may say that it holds anything. */
static bool is_credible(const GElf_Chdr *header, size_t packed_bytes)
{
	return (header->ch_type == ELFCOMPRESS_ZLIB || header->ch_type == COMPRESSED_ZSTD) &&
	       header->ch_size && header->ch_size / RATIO_MOST <= packed_bytes;
}

static void add_section(struct work *w, Elf *elf, Elf_Scn *scn)
{
	size_t skipped = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	Elf_Data *raw = elf_rawdata(scn, NULL);
	GElf_Chdr header;

	if (!raw || !raw->d_buf || raw->d_size <= skipped || !gelf_getchdr(scn, &header) ||
	    !is_credible(&header, raw->d_size - skipped))
		return;
	*vec_push(&w->sections) = (struct section){
		.scn = scn,
		.packed = (const uint8_t *)raw->d_buf + skipped,
		.packed_bytes = raw->d_size - skipped,
		.size_bytes = header.ch_size,
		.type = header.ch_type,
	};
}

static void list_sections(struct work *w, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || !(header.sh_flags & SHF_COMPRESSED) || !has_prefix(name, ".debug_"))
			continue;
		if (is_unread(name))
			hide(scn, &header);
		else
			add_section(w, elf, scn);
	}
}

static int by_size(const void *left, const void *right)
{
	const struct section *a = left, *b = right;

	return (a->packed_bytes < b->packed_bytes) - (a->packed_bytes > b->packed_bytes);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

#ifdef HAVE_LIBDEFLATE
static bool inflate_section(const struct section *s)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool is_good = d && libdeflate_zlib_decompress(d, s->packed, s->packed_bytes, s->bytes,
						       s->size_bytes, NULL) == LIBDEFLATE_SUCCESS;

	if (d)
		libdeflate_free_decompressor(d);
	return is_good;
}
#else
static bool inflate_section(const struct section *s)
{
	uLongf bytes = s->size_bytes;

	return uncompress(s->bytes, &bytes, s->packed, s->packed_bytes) == Z_OK &&
	       bytes == s->size_bytes;
}
#endif

static void unpack_section(struct section *s)
{
	s->bytes = malloc(s->size_bytes);
	if (!s->bytes)
		return;
	if (s->type == COMPRESSED_ZSTD)
		s->is_done = ZSTD_decompress(s->bytes, s->size_bytes, s->packed, s->packed_bytes) ==
			     s->size_bytes;
	else
		s->is_done = inflate_section(s);
}

static void *run_worker(void *argument)
{
	struct work *w = argument;

	for (;;) {
		pthread_mutex_lock(&w->lock);
		size_t taken = w->next++;
		pthread_mutex_unlock(&w->lock);
		if (taken >= w->sections.count)
			return NULL;
		unpack_section(&w->sections.at[taken]);
	}
}

/* One section is more than half of all, so a third thread would have nothing to do. Signals stay
 * with the threads that the caller knows. */
static bool start_second(struct work *w, pthread_t *second)
{
	size_t beside = 0;
	sigset_t all, before;
	cpu_set_t cores;
	pthread_attr_t attributes;

	for (size_t i = 1; i < w->sections.count; i++)
		beside += w->sections.at[i].packed_bytes;
	if (beside < SHARED_WORTH || sched_getaffinity(0, sizeof(cores), &cores) != 0 ||
	    CPU_COUNT(&cores) < 2 || pthread_attr_init(&attributes))
		return false;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool is_started = pthread_create(second, &attributes, run_worker, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return is_started;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool replace(const struct section *s)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(s->scn, NULL);

	if (!data || !gelf_getshdr(s->scn, &header))
		return false;
	header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header.sh_size = s->size_bytes;
	if (!gelf_update_shdr(s->scn, &header))
		return false;
	data->d_buf = s->bytes;
	data->d_size = s->size_bytes;
	data->d_type = ELF_T_BYTE;
	return true;
}

void unpack_sections(Elf *elf, unsigned threads, struct unpacked *u)
{
	struct work w = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t second;

	list_sections(&w, elf);
	if (w.sections.count)
		qsort(w.sections.at, w.sections.count, sizeof(*w.sections.at), by_size);
	bool is_shared = threads > 1 && start_second(&w, &second);
	(void)run_worker(&w);
	if (is_shared)
		pthread_join(second, NULL);
	for (size_t i = 0; i < w.sections.count; i++) {
		const struct section *s = &w.sections.at[i];

		if (s->is_done && replace(s))
			*vec_push(&u->buffers) = s->bytes;
		else
			free(s->bytes);
	}
	pthread_mutex_destroy(&w.lock);
	vec_free(&w.sections);
}

bool unpack_is_modest(Elf *elf)
{
	uint64_t unpacked = 0, bytes = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	GElf_Chdr compressed;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_flags & SHF_ALLOC ||
		    header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &compressed))
			unpacked += compressed.ch_size;
		else
			bytes += header.sh_size;
		if (unpacked > MODEST_UNPACKED_BYTES || bytes > MODEST_BYTES)
			return false;
	}
	return true;
}

void unpack_free(struct unpacked *u)
{
	for (size_t i = 0; i < u->buffers.count; i++)
		free(u->buffers.at[i]);
	vec_free(&u->buffers);
}
