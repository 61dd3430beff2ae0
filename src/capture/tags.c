/* tags.c -- which tag a thread is in: a tree of tags per thread, in the segment.
 * Runs: any thread of the target, mostly outside of malloc; maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/tags.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/cold.h"
#include "capture/counting.h"
#include "capture/host.h"
#include "capture/named.h"
#include "capture/stacktree.h"
#include "capture/texts.h"
#include "capture/thread.h"
#include "midden/midden.h"

#define EXPORT	  __attribute__((visibility("default")))
#define SEPARATOR "::"

/* A name as it was given: in one piece, or a class and a function of it. */
struct name {
	const char *first;
	size_t first_bytes;
	const char *second; /* NULL: there is none */
	size_t second_bytes;
};

static struct name name_of(const char *first, const char *second)
{
	return (struct name){first, strlen(first), second, second ? strlen(second) : 0};
}

static size_t name_bytes(const struct name *n)
{
	return n->first_bytes + (n->second ? sizeof(SEPARATOR) - 1 + n->second_bytes : 0);
}

static void name_write(char *to, const struct name *n)
{
	memcpy(to, n->first, n->first_bytes);
	to += n->first_bytes;
	if (n->second) {
		memcpy(to, SEPARATOR, sizeof(SEPARATOR) - 1);
		memcpy(to + sizeof(SEPARATOR) - 1, n->second, n->second_bytes);
		to += sizeof(SEPARATOR) - 1 + n->second_bytes;
	}
	*to = '\0';
}

static bool name_is(const struct name *n, const char *text)
{
	if (!n->second)
		return strcmp(text, n->first) == 0;
	return strncmp(text, n->first, n->first_bytes) == 0 &&
	       strncmp(text + n->first_bytes, SEPARATOR, sizeof(SEPARATOR) - 1) == 0 &&
	       strcmp(text + n->first_bytes + sizeof(SEPARATOR) - 1, n->second) == 0;
}

/* FNV-1a, and a product for the upper bits, which the trie takes first. */
static uint32_t hash_bytes(uint32_t hash, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT32_C(16777619);
	return hash;
}

static uint32_t name_hash(const struct name *n)
{
	uint32_t hash = hash_bytes(UINT32_C(2166136261), n->first, n->first_bytes);

	if (n->second) {
		hash = hash_bytes(hash, SEPARATOR, sizeof(SEPARATOR) - 1);
		hash = hash_bytes(hash, n->second, n->second_bytes);
	}
	return hash * UINT32_C(0x9e3779b1);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Takes `amount` of what has `limit` in all; false if there is not so much. Not fetch_add: a full
 * table must not wrap around. */
static bool take(_Atomic uint32_t *used, uint64_t amount, uint64_t limit, uint32_t *from)
{
	uint32_t seen = atomic_load_explicit(used, memory_order_relaxed);

	while (seen + amount <= limit)
		if (atomic_compare_exchange_weak_explicit(used, &seen, (uint32_t)(seen + amount),
							  memory_order_relaxed,
							  memory_order_relaxed)) {
			*from = seen;
			return true;
		}
	return false;
}

/* A tag of this name, linked to nothing. Offset and index 0 stay unused; 0: there is no room. */
static uint32_t make(struct tags *tags, uint32_t parent, const struct name *n)
{
	struct segment_header *h = process->header;
	uint32_t text = 0, index;

	if (n->first_bytes + n->second_bytes >= process->layout.tag_text_bytes)
		return 0;
	if (name_bytes(n) && !take(&h->tag_text_used, name_bytes(n) + 1,
				   process->layout.tag_text_bytes - UINT64_C(1), &text))
		return 0;
	if (!take(&h->tags_used, 1, process->layout.tag_count - UINT64_C(1), &index))
		return 0;
	index++;
	struct segment_tag *tag = tags->base + index;
	tag->parent = parent;
	if (name_bytes(n)) {
		tag->name = text + 1;
		name_write((char *)process->header + process->layout.tag_text_offset + tag->name,
			   n);
	}
	tag->hash = name_hash(n);
	/* Pairs with the collector's acquire: all fields above are set. */
	atomic_store_explicit(&tag->serial, tags->serial, memory_order_release);
	return index;
}

/* The child of this name, made if it is not there; 0: there is no room. The bits of the hash may
 * run out: what has the same hash is a list from there on. */
static uint32_t find_child(struct tags *tags, struct segment_tag *parent, const struct name *n)
{
	const uint32_t hash = name_hash(n);
	uint32_t *link = &parent->child;

	for (uint32_t bits = hash; *link; bits <<= 1) {
		struct segment_tag *tag = tags->base + *link;

		if (tag->hash == hash && name_is(n, tags->text + tag->name))
			return *link;
		link = &tag->link[bits >> 31];
	}
	uint32_t made = make(tags, (uint32_t)(parent - tags->base), n);
	if (made)
		*link = made;
	return made;
}

bool tags_open(struct thread *t)
{
	static const struct name none = {"", 0, NULL, 0};
	struct tags *tags = &t->tags;

	tags->base = (struct segment_tag *)(void *)((char *)process->header +
						    process->layout.tags_offset);
	tags->text = (char *)process->header + process->layout.tag_text_offset;
	tags->epoch = (uint64_t)process->pid << 32;
	tags->cache = t->tag_cache;
	tags->serial = t->slot->serial;
	uint32_t root = make(tags, 0, &none);
	if (!root)
		return false;
	tags->root = tags->at = tags->base + root;
	tags->counts = process->mode == SEGMENT_MODE_TAGS;
	counting_trust(t);
	return true;
}

/* ---- entering and leaving -------------------------------------------------------------------- */

static void count(_Atomic uint64_t *loss, uint64_t more)
{
	atomic_fetch_add_explicit(loss, more, memory_order_relaxed);
}

/* The calling thread's tags, with a tree; NULL: nothing is being recorded, or there is no room. */
static NOINLINE struct tags *begin(void)
{
	struct thread *t = thread_self;

	if (t->state == THREAD_NEW) {
		if (!process || atomic_load(&process->state) == PROCESS_NEW)
			cold_start();
		if (!process || atomic_load(&process->state) != PROCESS_RECORDING || !cold_attach())
			return NULL;
		t = thread_self;
	}
	if (t->state != THREAD_READY || (!t->tags.at && !tags_open(t)))
		return NULL;
	return &t->tags;
}

static inline uint64_t handle_of(const struct tags *tags, const struct segment_tag *tag)
{
	return tags->epoch | (uint64_t)(tag - tags->base);
}

static inline void go_to(struct tags *tags, struct segment_tag *tag)
{
	tags->at = tag;
	if (tags->fast)
		tags->fast = &tag->counts;
}

static inline uint64_t enter(struct tags *tags, uint32_t index)
{
	struct segment_tag *tag = tags->base + index;

	tag->counts.entered++;
	tag->open++;
	go_to(tags, tag);
	return tags->epoch | index;
}

static inline struct tags_entry *entry_of(struct tags *tags, const char *name, uint32_t parent)
{
	/* Names in a program lie side by side, tags in the table too. */
	uint32_t hash = (uint32_t)(uintptr_t)name ^ parent * UINT32_C(0x9e3779b1) >> 7;

	return &tags->cache[(hash ^ hash >> 6) % TAGS_CACHE];
}

static NOINLINE uint64_t push(const char *first, const char *second)
{
	int saved = errno;
	const struct name n = name_of(first, second);
	struct tags *tags = begin();
	uint32_t tag = tags && !tags->failed ? find_child(tags, tags->at, &n) : 0;

	errno = saved;
	if (!tags)
		return 0;
	if (!tag) {
		tags->failed++;
		count(&process->header->tag_losses.lost_pushes, 1);
		return 0;
	}
	if (!second) {
		uint32_t parent = (uint32_t)(tags->at - tags->base);

		*entry_of(tags, first, parent) = (struct tags_entry){first, parent, tag};
	}
	return enter(tags, tag);
}

EXPORT uint64_t midden_push_tag(const char *name)
{
	struct tags *tags = &thread_self->tags;

	if (likely(tags->at && name && !tags->failed)) {
		uint32_t parent = (uint32_t)(tags->at - tags->base);
		const struct tags_entry *e = entry_of(tags, name, parent);

		if (likely(e->name == name && e->parent == parent &&
			   strcmp(tags->text + tags->base[e->tag].name, name) == 0))
			return enter(tags, e->tag);
	}
	return push(name ? name : "", NULL);
}

EXPORT uint64_t midden_push_method_tag(const char *class_name, const char *function)
{
	return push(class_name ? class_name : "", function ? function : "");
}

/* A pop that is not of a tag in the tree. */
static NOINLINE void pop_nothing(void)
{
	struct tags *tags = &thread_self->tags;

	if (tags->failed)
		tags->failed--;
	else if (process && atomic_load(&process->state) == PROCESS_RECORDING)
		count(&process->header->tag_losses.unmatched_pops, 1);
}

static inline void leave(struct tags *tags, struct segment_tag *tag)
{
	tag->open--;
	go_to(tags, tags->base + tag->parent);
}

EXPORT void midden_pop_tag(void)
{
	struct tags *tags = &thread_self->tags;

	if (likely(tags->at && tags->at->parent && !tags->failed))
		leave(tags, tags->at);
	else
		pop_nothing();
}

/* Leaves a tag that may have others open inside it: a longjmp has passed them, or they were
 * forgotten. */
static NOINLINE void leave_around(struct tags *tags, const struct segment_tag *tag)
{
	struct segment_tag *at = tags->at;
	uint64_t skipped = 0;

	while (at->parent && at != tag) {
		at = tags->base + at->parent;
		skipped++;
	}
	if (at != tag) {
		count(&process->header->tag_losses.unmatched_pops, 1);
		return;
	}
	tags->failed = 0;
	count(&process->header->tag_losses.skipped_pops, skipped);
	for (; skipped; skipped--)
		leave(tags, tags->at);
	leave(tags, tags->at);
}

EXPORT void midden_leave_tag(uint64_t handle)
{
	struct tags *tags = &thread_self->tags;
	const uint32_t index = (uint32_t)handle;

	if (unlikely(!handle || !tags->at)) { /* the push has told: it found nothing, or no room */
		if (tags->failed)
			tags->failed--;
	} else if (unlikely((handle ^ tags->epoch) >> 32)) {
		midden_pop_tag(); /* entered before a fork, left by the child */
	} else if (likely(tags->at == tags->base + index && !tags->failed)) {
		leave(tags, tags->at);
	} else {
		leave_around(tags, tags->base + index);
	}
}

/* ---- handing on ------------------------------------------------------------------------------ */

EXPORT uint64_t midden_get_tag(void)
{
	const struct tags *tags = &thread_self->tags;

	return tags->at && tags->at->parent ? handle_of(tags, tags->at) : 0;
}

static const struct segment_tag *find_ancestor(const struct tags *tags,
					       const struct segment_tag *tag, uint32_t steps)
{
	while (steps--)
		tag = tags->base + tag->parent;
	return tag;
}

/* The tag of the calling thread that has the same path as one of another thread; NULL: there is no
 * room. From the root down, though only the way up is known: paths are short. */
static struct segment_tag *copy_path(struct tags *tags, struct segment_tag *root,
				     const struct segment_tag *tag)
{
	uint32_t depth = 0;

	for (const struct segment_tag *up = tag; up->parent; up = tags->base + up->parent)
		depth++;
	while (root && depth--) {
		const struct name n =
			name_of(tags->text + find_ancestor(tags, tag, depth)->name, NULL);
		uint32_t child = find_child(tags, root, &n);

		root = child ? tags->base + child : NULL;
	}
	return root;
}

static struct segment_tag *root_of(const struct tags *tags)
{
	struct segment_tag *tag = tags->at;

	while (tag->parent)
		tag = tags->base + tag->parent;
	return tag;
}

static struct segment_tag *find_adopted(struct tags *tags, uint64_t handle)
{
	const uint32_t index = (uint32_t)handle;
	struct segment_tag *tag = tags->base + index;

	if (!handle)
		return root_of(tags);
	if ((handle ^ tags->epoch) >> 32 || !index || index >= process->layout.tag_count ||
	    !atomic_load_explicit(&tag->serial, memory_order_acquire)) {
		count(&process->header->tag_losses.stale_handles, 1);
		return root_of(tags);
	}
	return tag->serial == tags->serial ? tag : copy_path(tags, root_of(tags), tag);
}

EXPORT uint64_t midden_adopt_tag(uint64_t handle)
{
	int saved = errno;
	struct tags *tags = begin();
	uint64_t before = midden_get_tag();
	struct segment_tag *tag = tags ? find_adopted(tags, handle) : NULL;

	errno = saved;
	if (!tags)
		return 0;
	if (!tag) {
		count(&process->header->tag_losses.lost_pushes, 1);
		return before;
	}
	tags->failed = 0;
	if (tags->at->parent)
		tags->at->open--;
	if (tag->parent) {
		tag->counts.entered++;
		tag->open++;
	}
	go_to(tags, tag);
	return before;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t frame_of(const char *name)
{
	const struct texts texts = texts_get();
	const struct named named = named_get();
	const struct segment_named wanted = {.kind = SEGMENT_NAMED_TAG,
					     .function = texts_add(&texts, name, strlen(name))};

	return named_add(&named, &wanted);
}

/* The frames of the stack, then the tags, from the inside out; how many in all. */
static uint32_t list_frames(struct thread *t, uint32_t node)
{
	const struct segment_node *nodes = process_node(0);
	const struct tags *tags = &t->tags;
	uint32_t count = 0, end;

	for (; node && count < t->max_depth; node = segment_node_parent(nodes, node))
		t->frames[count++] = segment_node_place(nodes, node);
	end = count + TAGS_FRAMES;
	for (const struct segment_tag *up = tags->at; up->parent && count < end;
	     up = tags->base + up->parent)
		t->frames[count++] = frame_of(tags->text + up->name);
	return count;
}

NOINLINE uint32_t tags_add_frames(struct thread *t, uint32_t node)
{
	const struct tags *tags = &t->tags;
	const uint32_t tag = (uint32_t)(tags->at - tags->base);
	struct tags_stack *known =
		&t->tag_stacks[(node ^ tag * UINT32_C(0x9e3779b1) >> 8) % TAGS_STACKS];

	if (!tags->at->parent)
		return node;
	if (likely(known->node == node && known->tag == tag))
		return known->inside;
	uint32_t inside = stacktree_intern(t, list_frames(t, node));
	*known = (struct tags_stack){node, tag, inside};
	return inside;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The names follow, the outermost first, each with its NUL. */
struct tags_path {
	size_t bytes; /* of the whole */
	size_t count;
};

struct tags_path *tags_save(void)
{
	const struct tags *tags = &thread_self->tags;
	size_t bytes = sizeof(struct tags_path);
	size_t depth = 0;

	if (!tags->at || !tags->at->parent)
		return NULL;
	for (const struct segment_tag *up = tags->at; up->parent; up = tags->base + up->parent) {
		bytes += strlen(tags->text + up->name) + 1;
		depth++;
	}
	struct tags_path *path = host_map(bytes);
	if (!path)
		return NULL;
	*path = (struct tags_path){.bytes = bytes, .count = depth};
	char *end = (char *)path + bytes;
	for (const struct segment_tag *up = tags->at; up->parent; up = tags->base + up->parent) {
		size_t length = strlen(tags->text + up->name) + 1;

		end -= length;
		memcpy(end, tags->text + up->name, length);
	}
	return path;
}

void tags_drop(struct tags_path *path)
{
	if (path)
		(void)HOST_CALL2(SYS_munmap, path, path->bytes);
}

void tags_restore(const struct tags_path *path)
{
	const char *name = (const char *)(path + 1);

	if (!begin())
		return;
	for (size_t i = 0; i < path->count; i++) {
		(void)push(name, NULL);
		name += strlen(name) + 1;
	}
	count(&process->header->tag_losses.inherited, path->count);
}
