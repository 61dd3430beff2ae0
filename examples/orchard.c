/* orchard.c -- the sample program of `make demo`: a short life with a peak, some waste and a
 * leak.
 *
 * Four threads grow trees and cut them down again, a cache keeps the largest of them, a log
 * formats lines into buffers that live for a moment, and one in a hundred labels is forgotten.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GARDENERS 4
#define SEASONS	  50

struct tree {
	struct tree *left, *right;
	char *label;
	char bark[40];
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static char *cache[GARDENERS][16];

static char *make_label(const char *kind, int number)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%s-%d", kind, number);
	return strdup(text);
}

static struct tree *grow(int height, int *number)
{
	struct tree *t = calloc(1, sizeof(*t));

	t->label = make_label("apple", (*number)++);
	if (height > 1) {
		t->left = grow(height - 1, number);
		t->right = grow(height - 1, number);
	}
	return t;
}

static void cut(struct tree *t)
{
	if (!t)
		return;
	cut(t->left);
	cut(t->right);
	if (t->label[strlen(t->label) - 1] != '7' || t->label[strlen(t->label) - 2] != '7')
		free(t->label); /* the forgotten ones end in 77 */
	free(t);
}

static void remember(int who, const char *label, size_t weight)
{
	pthread_mutex_lock(&cache_lock);
	char **slot = &cache[who][weight % 16];
	*slot = realloc(*slot, weight);
	memset(*slot, label[0], weight);
	pthread_mutex_unlock(&cache_lock);
}

static size_t write_log(const char *what, int season)
{
	char *line = malloc(256);

	(void)snprintf(line, 256, "season %d: %s", season, what);
	size_t length = strlen(line);
	free(line);
	return length;
}

static void *tend(void *argument)
{
	int who = *(int *)argument;
	int number = 0;

	for (int season = 0; season < SEASONS; season++) {
		/* The harvest in the middle makes the peak. */
		struct tree *t = grow(season == SEASONS / 2 ? 14 : 8 + season % 3, &number);

		for (int i = 0; i < 20; i++)
			(void)write_log(t->label, season);
		remember(who, t->label, (size_t)(1000 + 500 * who + season));
		cut(t);
	}
	return NULL;
}

int main(void)
{
	pthread_t gardener[GARDENERS];
	int who[GARDENERS];

	for (int i = 0; i < GARDENERS; i++) {
		who[i] = i;
		pthread_create(&gardener[i], NULL, tend, &who[i]);
	}
	for (int i = 0; i < GARDENERS; i++)
		pthread_join(gardener[i], NULL);
	return 0;
}
