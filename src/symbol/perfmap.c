/* perfmap.c -- names of code that a running program generates (JIT), as it leaves them for perf.
 * Runs: offline, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "symbol/spans.h"

#define MAP_MAX_BYTES  (UINT64_C(256) << 20) /* a million functions with long names need 100 MB */
#define NAME_MAX_BYTES 1024u		     /* what follows in a longer name is left out */
#define SECOND_NS      UINT64_C(1000000000)
#define SLACK_NS       SECOND_NS /* clocks of file systems are coarse */

struct entry {
	uint64_t low, high;
	const char *name;
};

struct perfmap {
	char *text; /* the file, with NUL bytes behind the names */
	VEC(struct entry) entries;
	struct spans spans; /* item: index into entries */
};

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t modified_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * SECOND_NS + (uint64_t)status->st_mtim.tv_nsec;
}

static int check_file(const struct stat *status, const char *path,
		      const struct perfmap_owner *owner, struct error *e)
{
	uint64_t modified = modified_ns(status);

	if (!S_ISREG(status->st_mode))
		return error_set(e, "%s: not a regular file", path);
	if (status->st_uid != geteuid())
		return error_set(e, "%s: belongs to another user", path);
	if ((uint64_t)status->st_size > MAP_MAX_BYTES)
		return error_set(e, "%s: too large", path);
	if (modified + SLACK_NS < owner->start_unix_ns ||
	    (owner->end_unix_ns && modified > owner->end_unix_ns + SLACK_NS))
		return error_set(e, "%s: of another process with the same number", path);
	return 0;
}

/* As many bytes as the file had when it was checked, at most; NUL-terminated. */
static char *read_text(int fd, size_t bytes)
{
	char *text = mem_new(bytes + 1, 1);
	size_t used = 0;
	ssize_t got;

	while (used < bytes && (got = read(fd, text + used, bytes - used)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		used += got > 0 ? (size_t)got : 0;
	}
	text[used] = '\0';
	return text;
}

static char *open_and_read(const char *path, const struct perfmap_owner *owner, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat status;
	char *text = NULL;

	if (fd < 0) {
		error_set_errno(e, "%s", path);
		return NULL;
	}
	if (fstat(fd, &status) < 0)
		error_set_errno(e, "%s", path);
	else if (check_file(&status, path, owner, e) == 0)
		text = read_text(fd, (size_t)status.st_size);
	close(fd);
	return text;
}

/* ---- its lines ------------------------------------------------------------------------------- */

/* Some writers put 0x before their numbers. */
static bool take_number(char **at, uint64_t *number)
{
	char *end;

	if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (errno || end == *at || *end != ' ')
		return false;
	*at = end + strspn(end, " ");
	return true;
}

/* `line` is NUL-terminated in place of its line feed. */
static void add_line(struct perfmap *m, char *line)
{
	uint64_t low, bytes;

	if (!take_number(&line, &low) || !take_number(&line, &bytes) || !*line)
		return;
	if (bytes == 0 || low + bytes < low)
		return;
	if (strlen(line) > NAME_MAX_BYTES)
		line[NAME_MAX_BYTES] = '\0';
	*vec_push(&m->entries) = (struct entry){low, low + bytes, line};
}

static void add_lines(struct perfmap *m)
{
	char *line = m->text;

	while (*line) {
		char *end = strchrnul(line, '\n');
		bool last = !*end;

		*end = '\0';
		add_line(m, line);
		line = last ? end : end + 1;
	}
}

/* ---- who owns which address ------------------------------------------------------------------ */

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Where ranges begin or end: between two such places, every address has the same owner. */
struct places {
	VEC(uint64_t) at;
	uint32_t *next; /* the first place from here on that has no owner yet */
};

static size_t find_place(const struct places *p, uint64_t address)
{
	size_t low = 0, high = p->at.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->at.at[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void list_places(struct perfmap *m, struct places *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->entries.count; i++) {
		*vec_push(&p->at) = m->entries.at[i].low;
		*vec_push(&p->at) = m->entries.at[i].high;
	}
	qsort(p->at.at, p->at.count, sizeof(*p->at.at), compare_numbers);
	for (size_t i = 0; i < p->at.count; i++)
		if (i == 0 || p->at.at[i] != p->at.at[kept - 1])
			p->at.at[kept++] = p->at.at[i];
	p->at.count = kept;
	p->next = mem_new(kept, sizeof(*p->next));
	for (size_t i = 0; i < kept; i++)
		p->next[i] = (uint32_t)i;
}

/* Follows `next` to a place that points to itself, halving the way for those who come later. */
static size_t skip_owned(struct places *p, size_t i)
{
	while (p->next[i] != i) {
		p->next[i] = p->next[p->next[i]];
		i = p->next[i];
	}
	return i;
}

/* From the last line to the first, each takes what is left of its range: O(n log n) whatever the
 * file holds. */
static void settle(struct perfmap *m)
{
	struct places p = {0};

	list_places(m, &p);
	for (size_t k = m->entries.count; k-- > 0;) {
		const struct entry *entry = &m->entries.at[k];
		size_t end = find_place(&p, entry->high);
		size_t i = skip_owned(&p, find_place(&p, entry->low));

		for (; i < end; i = skip_owned(&p, i)) {
			spans_add(&m->spans,
				  (struct span){p.at.at[i], p.at.at[i + 1], (uint32_t)k, 0});
			p.next[i] = (uint32_t)i + 1;
		}
	}
	free(p.next);
	vec_free(&p.at);
	spans_flatten(&m->spans);
}

struct perfmap *perfmap_read(const char *directory, const struct perfmap_owner *owner,
			     struct error *e)
{
	char *path = mem_format("%s/perf-%d.map", directory, (int)owner->pid);
	char *text = open_and_read(path, owner, e);

	free(path);
	if (!text)
		return NULL;
	struct perfmap *m = mem_new(1, sizeof(*m));
	m->text = text;
	add_lines(m);
	if (m->entries.count)
		settle(m);
	return m;
}

void perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	free(m->text);
	vec_free(&m->entries);
	spans_free(&m->spans);
	free(m);
}

const char *perfmap_find(const struct perfmap *m, uint64_t address)
{
	const struct span *span = spans_find(&m->spans, address);

	return span ? m->entries.at[span->item].name : NULL;
}
