/* browse.c -- `midden top` on a terminal: keys and what they show. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/browse.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/screen.h"

#define LIST_LINE   (TOP_TEXT_HEAD_LINES + 1u) /* where rows begin */
#define STACKS_MOST 50u			       /* that are shown of a function */

enum page { PAGE_LIST, PAGE_STACKS, PAGE_HELP };

struct browser {
	struct tracking *tracking;
	struct style style;
	struct ranking ranking; /* of the list, or of the stacks of one function */
	enum page page;
	size_t chosen; /* row of the list */
	size_t scroll; /* first row or line that is shown */
	uint32_t site; /* PAGE_STACKS: one stack of the function */
	size_t lines;  /* of the page, other than the list's */
	bool paused;
	bool asking; /* for a filter */
	char input[TRACKING_FILTER_MOST + 1];
};

static const char help[] =
	"up, down, page    choose a row; in stacks and help, scroll\n"
	"enter             the stacks of the chosen row\n"
	"escape            back\n"
	"l b g c y         order by live bytes, blocks, growth, calls/s, bytes/s\n"
	"s                 order by the next of them\n"
	"t                 a row for each stack, or for each function\n"
	"/                 only stacks through functions with this in their name\n"
	"m                 mark: growth is counted from now\n"
	"u                 unmark: growth is counted from the program's start\n"
	"p                 pause, and go on\n"
	"r                 renew now\n"
	"q                 quit\n"
	"\n"
	"live      bytes in blocks that are not freed\n"
	"growth    how many more that is than at the mark\n"
	"calls/s   allocations per second since the last renewal\n"
	"bytes/s   bytes allocated per second, freed or not\n";

/* ---- signals --------------------------------------------------------------------------------- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static volatile sig_atomic_t caught;

static void note_signal(int number)
{
	caught = number;
}

/* Without SA_RESTART: who waits for a key is to notice. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal};

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		(void)sigaction(ending[i], &action, NULL);
}

/* Once the terminal is as it was: who sent the signal sees that it worked. */
static void pass_on_signal(void)
{
	if (!caught || caught == SIGINT) /* ^C is how one quits */
		return;
	(void)signal(caught, SIG_DFL);
	(void)raise(caught);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void rank(struct browser *b)
{
	const struct ranking_request request = tracking_get_request(b->tracking);

	ranking_free(&b->ranking);
	if (b->page == PAGE_STACKS)
		ranking_build_stacks(&b->ranking, &request, b->site);
	else
		ranking_build(&b->ranking, &request);
}

static struct top_text get_text(struct browser *b)
{
	struct top_text t = tracking_get_text(b->tracking, &b->ranking);

	t.style = b->style;
	t.style.width = screen_get_width();
	if (b->paused)
		t.state = "paused";
	return t;
}

/* Puts the lines of a text from the `skip`-th on, and returns how many it has. */
static size_t put_lines(const char *text, size_t skip, unsigned from, unsigned to)
{
	size_t count = 0;

	for (const char *at = text; *at; count++) {
		size_t length = strcspn(at, "\n");

		if (count >= skip && from + (count - skip) < to)
			screen_put(from + (unsigned)(count - skip), at, length,
				   from == 0 ? SCREEN_TITLE : SCREEN_PLAIN);
		at += length + (at[length] == '\n');
	}
	return count;
}

static unsigned get_room(void)
{
	unsigned height = screen_get_height();

	return height > LIST_LINE + 1 ? height - LIST_LINE - 1 : 1;
}

static void keep_in_sight(struct browser *b)
{
	size_t count = b->ranking.rows.count, room = get_room();

	if (b->chosen >= count)
		b->chosen = count ? count - 1 : 0;
	if (b->scroll > b->chosen)
		b->scroll = b->chosen;
	if (b->chosen - b->scroll >= room)
		b->scroll = b->chosen - room + 1;
}

static void draw_rows(struct browser *b, const struct top_text *t)
{
	keep_in_sight(b);
	for (size_t i = b->scroll; i < b->ranking.rows.count && i - b->scroll < get_room(); i++) {
		char *line = NULL;
		size_t bytes;
		FILE *out = open_memstream(&line, &bytes);

		if (!out)
			return;
		top_text_print_row(out, t, &b->ranking.rows.at[i]);
		(void)fclose(out);
		screen_put(LIST_LINE + (unsigned)(i - b->scroll), line, bytes - 1,
			   i == b->chosen ? SCREEN_CHOSEN : SCREEN_PLAIN);
		free(line);
	}
}

/* The head, or the stacks of a function; malloc'ed, NULL if there is no memory. */
static char *print_part(const struct browser *b, const struct top_text *t, bool is_head)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	if (is_head)
		top_text_print_head(out, t);
	for (size_t i = 0; !is_head && i < b->ranking.rows.count && i < STACKS_MOST; i++)
		top_text_print_stack(out, t, &b->ranking.rows.at[i]);
	(void)fclose(out);
	return text;
}

static void draw_titles(const struct top_text *t)
{
	char *line = NULL;
	size_t bytes;
	FILE *out = open_memstream(&line, &bytes);

	if (!out)
		return;
	top_text_print_titles(out, t);
	(void)fclose(out);
	screen_put(TOP_TEXT_HEAD_LINES, line, bytes - 1, SCREEN_QUIET);
	free(line);
}

static void draw_hints(const struct browser *b)
{
	static const char *const hints[] = {
		[PAGE_LIST] =
			"q quit  enter stacks  s order  t rows  / filter  m mark  p pause  ? help",
		[PAGE_STACKS] = "q quit  escape back  up, down scroll",
		[PAGE_HELP] = "q quit  escape back",
	};
	char line[TRACKING_FILTER_MOST + 16];
	unsigned last = screen_get_height() - 1;

	(void)snprintf(line, sizeof(line), "filter: %s_", b->input);
	if (b->asking)
		screen_put(last, line, strlen(line), SCREEN_TITLE);
	else
		screen_put(last, hints[b->page], strlen(hints[b->page]), SCREEN_QUIET);
}

static void draw(struct browser *b)
{
	struct top_text t = get_text(b);
	char *head = print_part(b, &t, true);
	char *stacks = b->page == PAGE_STACKS ? print_part(b, &t, false) : NULL;
	unsigned end = LIST_LINE + get_room();

	screen_clear();
	if (head)
		(void)put_lines(head, 0, 0, TOP_TEXT_HEAD_LINES);
	if (b->page != PAGE_HELP)
		draw_titles(&t);
	if (b->page == PAGE_LIST)
		draw_rows(b, &t);
	else if (b->page == PAGE_HELP || stacks)
		b->lines = put_lines(stacks ? stacks : help, b->scroll, LIST_LINE, end);
	draw_hints(b);
	screen_show();
	free(head);
	free(stacks);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void turn_to(struct browser *b, enum page page)
{
	b->page = page;
	b->scroll = 0;
	rank(b);
}

static void open_stacks(struct browser *b)
{
	if (b->page != PAGE_LIST || b->chosen >= b->ranking.rows.count)
		return;
	b->site = b->ranking.rows.at[b->chosen].site;
	turn_to(b, PAGE_STACKS);
}

/* By rows of the list, or by lines of the other pages. */
static void move(struct browser *b, long by)
{
	size_t *at = b->page == PAGE_LIST ? &b->chosen : &b->scroll;
	size_t count = b->page == PAGE_LIST ? b->ranking.rows.count : b->lines;
	long last = count ? (long)count - 1 : 0;
	long to = (long)*at + by;

	*at = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static bool take_movement(struct browser *b, int key)
{
	long room = (long)get_room();
	static const long far = 1 << 30;
	const struct {
		int key;
		long by;
	} moves[] = {
		{SCREEN_UP, -1},	 {'k', -1},
		{SCREEN_DOWN, 1},	 {'j', 1},
		{SCREEN_PAGE_UP, -room}, {SCREEN_PAGE_DOWN, room},
		{SCREEN_HOME, -far},	 {SCREEN_END, far},
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].key == key) {
			move(b, moves[i].by);
			return true;
		}
	return false;
}

static void take_letter(struct browser *b, char letter)
{
	size_t length = strlen(b->input);

	if (length < TRACKING_FILTER_MOST)
		memcpy(b->input + length, (char[2]){letter, '\0'}, 2);
}

static void take_filter_key(struct browser *b, int key)
{
	size_t length = strlen(b->input);

	if (key == SCREEN_ENTER) {
		memcpy(b->tracking->view.filter, b->input, sizeof(b->input));
		b->asking = false;
		b->chosen = 0;
	} else if (key == SCREEN_BACK && length) {
		b->input[length - 1] = '\0';
	} else if (key == SCREEN_BACK) {
		b->asking = false;
	} else if (key >= ' ' && key <= 0xff) {
		take_letter(b, (char)key);
	}
}

/* False: the key orders nothing. */
static bool take_order(struct tracking_view *v, int key)
{
	static const char letters[RANKING_KEYS] = {'l', 'b', 'g', 'c', 'y'};

	for (unsigned i = 0; i < RANKING_KEYS; i++)
		if (letters[i] == key) {
			v->key = (enum ranking_key)i;
			return true;
		}
	if (key == 's')
		v->key = (v->key + 1) % RANKING_KEYS;
	return key == 's';
}

static void begin_asking(struct browser *b)
{
	b->asking = true;
	memcpy(b->input, b->tracking->view.filter, sizeof(b->input));
}

/* False: quit. */
static bool take_key(struct browser *b, int key)
{
	struct tracking_view *view = &b->tracking->view;

	if (b->asking) {
		take_filter_key(b, key);
		return true;
	}
	if (take_movement(b, key) || take_order(view, key))
		return true;
	switch (key) {
	case 'q':
		return false;
	case 't':
		view->by_stack = !view->by_stack;
		break;
	case '/':
		begin_asking(b);
		break;
	case 'm':
		tracking_set_mark(b->tracking);
		break;
	case 'u':
		tracking_unset_mark(b->tracking);
		break;
	case 'p':
	case ' ':
		b->paused = !b->paused;
		break;
	case 'r':
		(void)tracking_step(b->tracking);
		break;
	case '?':
	case 'h':
		turn_to(b, PAGE_HELP);
		break;
	case SCREEN_ENTER:
		open_stacks(b);
		break;
	case SCREEN_BACK:
		turn_to(b, PAGE_LIST);
		break;
	default:
		break;
	}
	return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void loop(struct browser *b, int delay_ms)
{
	int64_t due = now_ms() + delay_ms;

	for (;;) {
		rank(b);
		draw(b);
		int64_t left = due - now_ms();
		int key = screen_read(left > 0 ? (int)left : 0);
		if (caught || (key != SCREEN_NONE && !take_key(b, key)))
			return;
		if (now_ms() < due)
			continue;
		if (!b->paused)
			(void)tracking_step(b->tracking);
		due = now_ms() + delay_ms;
	}
}

int browse_run(struct tracking *t, int delay_ms, const struct style *style)
{
	struct browser b = {.tracking = t, .style = *style};

	if (!screen_open(style->colour)) {
		message_print("this terminal cannot be drawn on (TERM=%s): try --batch",
			      getenv("TERM") ? getenv("TERM") : "");
		return COMMAND_FAILED;
	}
	catch_signals();
	loop(&b, delay_ms);
	screen_close();
	ranking_free(&b.ranking);
	pass_on_signal();
	return COMMAND_GOOD;
}
