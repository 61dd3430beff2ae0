/* switches.c -- words that say yes or no, and variables that hold them. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/switches.h"

#include <stdlib.h>
#include <strings.h>

static bool is_one_of(const char *text, const char *const *words)
{
	while (*words && strcasecmp(text, *words) != 0)
		words++;
	return *words != NULL;
}

int switches_parse(const char *text)
{
	static const char *const yes[] = {"true", "yes", "on", "1", NULL};
	static const char *const no[] = {"false", "no", "off", "0", NULL};

	return is_one_of(text, yes) ? 1 : is_one_of(text, no) ? 0 : -1;
}

int switches_read(const char *variable, bool *value, struct error *e)
{
	const char *text = getenv(variable);
	int is_on = text && *text ? switches_parse(text) : *value;

	if (is_on < 0)
		return error_set(e, "%s is 1 or 0, not '%s'", variable, text);
	*value = is_on == 1;
	return 0;
}
