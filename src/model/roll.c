/* roll.c -- whose recordings are added up, so that nobody's is added twice unnoticed.
 * Runs: offline. Called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/roll.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

/* One of the recordings that a profile is made of. */
struct recording {
	const char *host;
	const char *program;
	uint64_t start_unix_ns;
	uint32_t pid;
};

void roll_fini(struct roll *r)
{
	for (size_t i = 0; i < r->files.count; i++)
		free(r->files.at[i]);
	vec_free(&r->files);
	vec_free(&r->entries);
	map_free(&r->known);
	free(r->example);
	*r = (struct roll){0};
}

static size_t count_recordings(const struct profile *p)
{
	return p->inputs.count ? p->inputs.count : 1;
}

static struct recording get_recording(const struct profile *p, size_t i)
{
	const struct profile_run *run = &p->run;
	const struct profile_input *in = p->inputs.at;

	if (p->inputs.count == 0)
		return (struct recording){profile_string(p, run->host),
					  profile_string(p, run->program), run->start_unix_ns,
					  run->pid};
	in += i;
	return (struct recording){profile_string(p, in->host), profile_string(p, in->program),
				  in->start_unix_ns, in->pid};
}

static bool is_known(const struct recording *of)
{
	return of->pid && of->start_unix_ns;
}

static struct roll_entry *find_entry(struct roll *r, const struct recording *of)
{
	char *text = mem_format("%" PRIu32 " %" PRIu64 " %s/%s", of->pid, of->start_unix_ns,
				of->host, of->program);
	uint32_t *number = map_reserve(&r->known, map_hash_text(text));

	free(text);
	if (!*number) {
		*vec_push(&r->entries) = (struct roll_entry){0};
		*number = (uint32_t)r->entries.count;
	}
	return &r->entries.at[*number - 1];
}

bool roll_has_all(struct roll *r, const struct profile *p)
{
	for (size_t i = 0; i < count_recordings(p); i++) {
		struct recording of = get_recording(p, i);

		if (!is_known(&of) || !find_entry(r, &of)->times)
			return false;
	}
	return true;
}

static void note_double(struct roll *r, const struct recording *of, const struct roll_entry *entry)
{
	r->doubles++;
	if (!r->example)
		r->example = mem_format("process %" PRIu32 " (%s) is counted more than once: it is "
					"in %s and again in %s",
					of->pid, of->program, r->files.at[entry->file],
					r->files.at[r->files.count - 1]);
}

void roll_add(struct roll *r, const struct profile *p, const char *file)
{
	*vec_push(&r->files) = mem_copy_string(file);
	for (size_t i = 0; i < count_recordings(p); i++) {
		struct recording of = get_recording(p, i);

		if (!is_known(&of))
			continue;
		struct roll_entry *entry = find_entry(r, &of);
		if (!entry->times++)
			entry->file = (uint32_t)r->files.count - 1;
		else if (entry->times == 2)
			note_double(r, &of, entry);
	}
}

char *roll_describe_doubles(const struct roll *r)
{
	if (r->doubles < 2)
		return r->example ? mem_copy_string(r->example) : NULL;
	return mem_format("%s; so %s %zu other%s", r->example, r->doubles == 2 ? "is" : "are",
			  r->doubles - 1, r->doubles == 2 ? "" : "s");
}
