/* pulse.c -- a recording that goes on, asked now and then how things are. Runs: in the process that
 * serves a recording, and in `midden top`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/pulse.h"

#include <stddef.h>

void pulse_end(struct pulse *p)
{
	if (p->model)
		model_free(p->model);
	if (p->profile)
		profile_free(p->profile);
	p->model = NULL;
	p->profile = NULL;
}

void pulse_take(struct pulse *p, struct profile *profile)
{
	struct model_options options = {0};

	pulse_end(p);
	load_fill_model(p->load, &options);
	p->profile = profile;
	p->model = model_new(profile, &options);
}

int pulse_step(struct pulse *p, struct error *e)
{
	struct profile *next = control_read_brief(p->pid, &p->origin, e);

	if (!next)
		return -1;
	if (p->profile)
		load_new_symbols(next, p->profile, p->load);
	else
		load_symbols(next, p->load, RESOLVE_MISSING, NULL);
	pulse_take(p, next);
	return 0;
}
