/* leaks_json.c -- what is lost, what is held, and by whom, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks_json.h"

#include <stdlib.h>

#include "model/unchecked.h"
#include "report/answer_json.h"
#include "report/tree_json.h"
#include "report/wording.h"

static const char *const kinds[PROFILE_LINK_KINDS] = {
	[PROFILE_LINK_BLOCK] = "block",	    [PROFILE_LINK_GLOBAL] = "variable",
	[PROFILE_LINK_STACK] = "stack",	    [PROFILE_LINK_LOCAL] = "thread-local",
	[PROFILE_LINK_MAPPING] = "mapping", [PROFILE_LINK_REGISTER] = "register",
	[PROFILE_LINK_CUT] = "cut",	    [PROFILE_LINK_HEAP] = "unrecorded",
};

static void add_amount(struct json *j, const char *key, struct amount a)
{
	json_begin_object(j, key);
	json_add_uint(j, "bytes", a.bytes);
	json_add_uint(j, "blocks", a.blocks);
	json_end_object(j);
}

static void add_root(struct json *j, const struct profile *p, const struct profile_link *link)
{
	char *text = leaks_name_root(p, link);

	json_add_text(j, "text", text ? text : "");
	json_add_text(j, "name", profile_string(p, link->name));
	if (link->thread)
		json_add_uint(j, "thread", link->thread);
	else
		json_add_null(j, "thread");
	if (link->kind == PROFILE_LINK_CUT)
		json_add_uint(j, "blocks", link->offset);
	else
		json_add_uint(j, "address", link->address);
	free(text);
}

static void add_link(struct json *j, const struct model *m, const struct profile_link *link)
{
	json_begin_object(j, NULL);
	json_add_string(j, "kind", kinds[link->kind]);
	if (link->kind == PROFILE_LINK_BLOCK) {
		json_add_uint(j, "offset_in_holder", link->offset);
		json_add_uint(j, "offset_inside", link->inside);
		if (link->site)
			tree_json_add_stack(j, m, link->site - 1);
	} else {
		add_root(j, model_get_profile(m), link);
	}
	json_end_object(j);
}

/* From the block outwards. */
static void add_chain(struct json *j, const struct model *m, uint32_t row)
{
	const struct profile *p = model_get_profile(m);

	json_begin_list(j, "chain");
	for (; row; row = p->links.at[row - 1].holder)
		add_link(j, m, &p->links.at[row - 1]);
	json_end_list(j);
}

static void add_row(struct json *j, const struct leaks *l, const struct leaks_row *row)
{
	json_begin_object(j, NULL);
	json_add_string(j, "class", leaks_get_name(row->lost->class));
	json_add_uint(j, "bytes", row->amount.bytes);
	json_add_uint(j, "blocks", row->amount.blocks);
	json_add_uint(j, "held_bytes", row->held.bytes);
	json_add_uint(j, "held_blocks", row->held.blocks);
	tree_json_add_stack(j, l->model, row->lost->site);
	add_chain(j, l->model, row->lost->chain);
	json_end_object(j);
}

void leaks_json_add_processes(struct json *j, const struct profile *p)
{
	struct unchecked u;

	unchecked_list(&u, p, NULL);
	json_add_uint(j, "processes", u.processes);
	if (u.looked_at)
		json_add_uint(j, "processes_looked_at", u.looked_at);
	else
		json_add_null(j, "processes_looked_at");
	json_begin_list(j, "unchecked");
	for (size_t i = 0; i < u.rows.count; i++) {
		const struct profile_input *in = &p->inputs.at[u.rows.at[i]];

		json_begin_object(j, NULL);
		json_add_text(j, "program", profile_string(p, in->program));
		json_add_uint(j, "pid", in->pid);
		json_end_object(j);
	}
	json_end_list(j);
	unchecked_free(&u);
}

static void add_merge(struct json *j, const struct profile *p)
{
	if (p->run.merge)
		json_add_string(j, "merge", wording_get_merge(p->run.merge));
	else
		json_add_null(j, "merge");
	leaks_json_add_processes(j, p);
}

/* Whether all that was not freed is in the sums. */
static bool knows_all_blocks(const struct profile *p)
{
	struct unchecked u;

	unchecked_list(&u, p, NULL);
	unchecked_free(&u);
	return u.looked_at == u.processes && !(p->run.lost_flags & PROFILE_LOST_STRANGERS) &&
	       p->run.small_objects != PROFILE_SMALL_SAMPLED;
}

void leaks_json_print(FILE *out, const struct leaks *l)
{
	const struct profile *p = model_get_profile(l->model);
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	json_add_string(&j, "program", profile_string(p, p->run.program));
	answer_json_add_pid(&j, p);
	add_merge(&j, p);
	json_add_uint(&j, "time_ns", p->run.lost_time_ns);
	json_add_uint(&j, "pause_ns", p->run.lost_pause_ns);
	json_add_uint(&j, "read_bytes", p->run.lost_read_bytes);
	json_add_uint(&j, "unread_bytes", p->run.lost_unread_bytes);
	json_add_bool(&j, "at_exit", p->run.lost_flags & PROFILE_LOST_AT_EXIT);
	json_add_bool(&j, "stopped", !(p->run.lost_flags & PROFILE_LOST_MOVING));
	json_add_bool(&j, "copied", p->run.lost_flags & PROFILE_LOST_COPIED);
	json_add_bool(&j, "looked_later", p->run.lost_flags & PROFILE_LOST_LATER);
	json_add_bool(&j, "all_blocks_known", knows_all_blocks(p));
	json_begin_object(&j, "classes");
	for (unsigned i = 0; i < PROFILE_LOST_CLASSES; i++)
		add_amount(&j, leaks_get_name(i), l->classes[i]);
	json_end_object(&j);
	add_amount(&j, "suppressed", l->suppressed);
	json_begin_list(&j, "stacks");
	for (size_t i = 0; i < l->rows.count; i++)
		add_row(&j, l, &l->rows.at[i]);
	json_end_list(&j);
	json_end_object(&j);
}
