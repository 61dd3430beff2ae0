/* nearest.c -- the word that a misspelt one was probably meant for. Runs: in the midden command,
 * pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/nearest.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX_BYTES 32u /* longer words are no misspelling of one that is known */
#define FAR	       3u  /* edits: from here on it is another word */

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Insertions, deletions and replacements between two words, by Levenshtein's rows. */
static unsigned edits_between(const char *a, const char *b)
{
	unsigned row[WORD_MAX_BYTES + 1];
	size_t columns = strlen(b);

	for (unsigned k = 0; k <= columns; k++)
		row[k] = k;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (size_t k = 1; k <= columns; k++) {
			unsigned above = row[k];
			row[k] = smallest(above + 1, row[k - 1] + 1, diagonal + (*a != b[k - 1]));
			diagonal = above;
		}
	}
	return row[columns];
}

struct nearest nearest_begin(const char *name)
{
	return (struct nearest){.name = name, .fewest = FAR};
}

void nearest_try(struct nearest *n, const char *word)
{
	if (strlen(n->name) > WORD_MAX_BYTES)
		return;
	unsigned edits = edits_between(word, n->name);
	if (edits < n->fewest && edits < strlen(n->name)) {
		n->fewest = edits;
		n->found = word;
	}
}
