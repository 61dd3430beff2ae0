/* display.c -- names and paths as they are shown, worked out once for each.
 * Runs: offline; called while a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/display.h"

#include <stdlib.h>

#include "symbol/lambda.h"
#include "symbol/shorten.h"

/* `changed` is the text in another form, which the display takes over, or NULL: it is shown as it
 * is. */
static const char *add(struct display *d, uint32_t *place, const char *text, char *changed)
{
	if (changed)
		*vec_push(&d->owned) = changed;
	*vec_push(&d->texts) = changed ? changed : text;
	*place = (uint32_t)d->texts.count;
	return d->texts.at[*place - 1];
}

/* malloc'ed; NULL if the name stays as it is. */
static char *write_short(const char *name)
{
	char *unified = lambda_unify(name, true);
	char *shorter = shorten_name(unified ? unified : name);

	if (!shorter)
		return unified;
	free(unified);
	return shorter;
}

const char *display_function(struct display *d, struct string_id id)
{
	const char *text = profile_string(d->profile, id);

	if (d->full_names || !*text)
		return text;
	uint32_t *place = map_reserve(&d->functions, id.v);
	return *place ? d->texts.at[*place - 1] : add(d, place, text, write_short(text));
}

const char *display_file(struct display *d, struct string_id id)
{
	const char *text = profile_string(d->profile, id);

	if (!*text)
		return text;
	uint32_t *place = map_reserve(&d->files, id.v);
	return *place ? d->texts.at[*place - 1] : add(d, place, text, pathmap_show(d->paths, text));
}

const char *display_named_module(uint32_t kind)
{
	switch (kind) {
	case PROFILE_NAMED_PYTHON:
		return "[python]";
	case PROFILE_NAMED_TAG:
		return "[tag]";
	default:
		return "[named]";
	}
}

void display_seal(struct display *d)
{
	map_free(&d->functions);
	map_free(&d->files);
	vec_free(&d->texts);
}

void display_fini(struct display *d)
{
	display_seal(d);
	for (size_t i = 0; i < d->owned.count; i++)
		free(d->owned.at[i]);
	vec_free(&d->owned);
}
