/* apart.c -- functions of several programs or builds in one profile that read the same.
 * Runs: offline; called when a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/apart.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* What it takes to tell a frame from those that read the same. */
enum need { NEED_NOTHING, NEED_NAME, NEED_PATH };

static const char *get_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Where a report says that a function is. */
static const char *get_place(const struct model_frame *f)
{
	return *f->file ? f->file : get_base(f->module);
}

static bool reads_the_same(const struct model_frame *a, const struct model_frame *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(get_place(a), get_place(b)) == 0;
}

/* The first frame that reads the same; texts that share a hash have places of their own. */
static uint32_t find_first(struct map *index, const struct model_frame *frames, uint32_t i)
{
	uint64_t hash =
		map_hash_text(frames[i].function) * 31 + map_hash_text(get_place(&frames[i]));

	for (;; hash++) {
		uint32_t *first = map_reserve(index, hash);
		if (!*first)
			*first = i + 1;
		if (reads_the_same(&frames[*first - 1], &frames[i]))
			return *first - 1;
	}
}

static enum need compare_modules(const struct model_frame *a, const struct model_frame *b)
{
	if (strcmp(a->module, b->module) == 0)
		return NEED_NOTHING;
	return strcmp(get_base(a->module), get_base(b->module)) == 0 ? NEED_PATH : NEED_NAME;
}

void apart_mark(struct model_frame *frames, size_t count)
{
	uint32_t *first = mem_new(count, sizeof(*first));
	uint8_t *needs = mem_new(count, sizeof(*needs));
	struct map index = {0};

	for (uint32_t i = 0; i < count; i++) {
		first[i] = *frames[i].function ? find_first(&index, frames, i) : i;
		enum need need = compare_modules(&frames[first[i]], &frames[i]);
		if (need > needs[first[i]])
			needs[first[i]] = (uint8_t)need;
	}
	for (size_t i = 0; i < count; i++) {
		uint8_t need = needs[first[i]];
		const char *path = frames[i].module;
		if (need != NEED_NOTHING)
			frames[i].apart = need == NEED_PATH ? path : get_base(path);
	}
	map_free(&index);
	free(first);
	free(needs);
}
