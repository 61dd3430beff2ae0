/* check_json.c -- which limits hold, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/check_json.h"

#include <stdlib.h>

#include "report/answer_json.h"
#include "report/check_text.h"
#include "report/leaks_json.h"
#include "report/tree_json.h"

static void add_stacks(struct json *j, const struct check *c, const struct check_result *r)
{
	json_begin_list(j, "stacks");
	for (size_t i = 0; i < r->stacks.count; i++) {
		const struct check_stack *s = &r->stacks.at[i];
		json_begin_object(j, NULL);
		json_add_uint(j, "bytes", s->amount.bytes);
		json_add_uint(j, "blocks", s->amount.blocks);
		if (check_is_growth(r->kind)) {
			json_add_uint(j, "old_bytes", s->before.bytes);
			json_add_uint(j, "old_blocks", s->before.blocks);
		}
		tree_json_add_stack(j, c->model, s->site);
		json_end_object(j);
	}
	json_end_list(j);
}

/* A limit is a number, or a share in percent; null where anything is allowed. */
static void add_limit(struct json *j, const struct check_result *r)
{
	if (r->limit.value == UINT64_MAX)
		json_add_null(j, "limit");
	else if (r->limit.relative)
		json_add_real(j, "limit_percent", 100.0 * (double)r->limit.value / CHECK_WHOLE);
	else
		json_add_uint(j, "limit", r->limit.value);
}

static void add_result(struct json *j, const struct check *c, const struct check_result *r)
{
	char *text = check_text_limit(r);

	json_begin_object(j, NULL);
	json_add_string(j, "name", check_name(r->kind));
	json_add_string(j, "text", text);
	json_add_bool(j, "failed", r->failed);
	json_add_uint(j, "value", r->value);
	add_limit(j, r);
	if (check_is_growth(r->kind))
		json_add_uint(j, "old_value", r->before);
	if (r->kind == CHECK_LEAKED || r->kind == CHECK_UNREACHABLE ||
	    r->kind == CHECK_LEAKED_GROWTH) {
		json_add_uint(j, "suppressed_bytes", r->suppressed.bytes);
		json_add_uint(j, "suppressed_blocks", r->suppressed.blocks);
	}
	if (r->kind == CHECK_UNREACHABLE)
		leaks_json_add_processes(j, model_get_profile(c->model));
	if (r->kind == CHECK_LEAKED_GROWTH) {
		json_add_uint(j, "old_suppressed_bytes", r->suppressed_before.bytes);
		json_add_uint(j, "old_suppressed_blocks", r->suppressed_before.blocks);
	}
	add_stacks(j, c, r);
	json_end_object(j);
	free(text);
}

void check_json_print(FILE *out, const struct check *c)
{
	const struct profile *p = model_get_profile(c->model);
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	json_add_string(&j, "program", profile_string(p, p->run.program));
	answer_json_add_pid(&j, p);
	json_add_bool(&j, "passed", c->failures == 0);
	json_add_uint(&j, "failures", c->failures);
	json_begin_list(&j, "limits");
	for (size_t i = 0; i < c->results.count; i++)
		add_result(&j, c, &c->results.at[i]);
	json_end_list(&j);
	json_end_object(&j);
}
