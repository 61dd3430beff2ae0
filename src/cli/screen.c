/* screen.c -- a terminal's screen as lines of text, and its keys. Runs: in `midden top`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/screen.h"

#include <curses.h>
#include <stdio.h>

#define ESCAPE	     27
#define BACKSPACE    127
#define ESCAPE_MS    50 /* what follows within it belongs to a key */
#define INK_COLOURED 1

static SCREEN *terminal;
static attr_t inks[SCREEN_QUIET + 1];

static void choose_inks(bool colour)
{
	inks[SCREEN_PLAIN] = A_NORMAL;
	inks[SCREEN_TITLE] = A_BOLD;
	inks[SCREEN_CHOSEN] = A_REVERSE;
	inks[SCREEN_QUIET] = A_NORMAL;
	if (!colour || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
		return;
	(void)init_pair(INK_COLOURED, COLOR_CYAN, -1);
	inks[SCREEN_QUIET] = (attr_t)COLOR_PAIR(INK_COLOURED);
}

bool screen_open(bool colour)
{
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return false;
	(void)cbreak();
	(void)noecho();
	(void)nonl(); /* so that return is told from line feed */
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	choose_inks(colour);
	return true;
}

void screen_close(void)
{
	if (!terminal)
		return;
	(void)endwin();
	delscreen(terminal);
	terminal = NULL;
}

unsigned screen_get_width(void)
{
	return (unsigned)getmaxx(stdscr);
}

unsigned screen_get_height(void)
{
	return (unsigned)getmaxy(stdscr);
}

void screen_clear(void)
{
	(void)erase();
}

void screen_put(unsigned line, const char *text, size_t length, enum screen_ink ink)
{
	(void)attrset((int)inks[ink]);
	(void)mvaddnstr((int)line, 0, text, (int)length);
	if (ink == SCREEN_CHOSEN)
		(void)mvchgat((int)line, 0, -1, A_REVERSE, 0, NULL);
	(void)attrset(A_NORMAL);
}

void screen_show(void)
{
	(void)refresh();
}

static int translate(int key)
{
	static const struct {
		int from;
		enum screen_key to;
	} keys[] = {
		{ERR, SCREEN_NONE},
		{KEY_UP, SCREEN_UP},
		{KEY_DOWN, SCREEN_DOWN},
		{KEY_PPAGE, SCREEN_PAGE_UP},
		{KEY_NPAGE, SCREEN_PAGE_DOWN},
		{KEY_HOME, SCREEN_HOME},
		{KEY_END, SCREEN_END},
		{KEY_ENTER, SCREEN_ENTER},
		{'\r', SCREEN_ENTER},
		{'\n', SCREEN_ENTER},
		{KEY_RIGHT, SCREEN_ENTER},
		{KEY_LEFT, SCREEN_BACK},
		{KEY_BACKSPACE, SCREEN_BACK},
		{BACKSPACE, SCREEN_BACK},
		{'\b', SCREEN_BACK},
		{ESCAPE, SCREEN_BACK},
		{KEY_RESIZE, SCREEN_RESIZED},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key;
}

int screen_read(int timeout_ms)
{
	timeout(timeout_ms);
	return translate(getch());
}
