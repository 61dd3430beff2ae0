/* screen.h -- a terminal's screen as lines of text, and its keys. Runs: in `midden top`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * There is one screen. screen_close gives the terminal back as it was, whatever ends the command.
 */
#ifndef MIDDEN_CLI_SCREEN_H
#define MIDDEN_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_ink { SCREEN_PLAIN, SCREEN_TITLE, SCREEN_CHOSEN, SCREEN_QUIET };

/* Keys other than characters. */
enum screen_key {
	SCREEN_NONE = -1, /* none came in time, or a signal did */
	SCREEN_UP = 0x110000,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_BACK, /* escape, backspace, left */
	SCREEN_RESIZED,
};

/* Takes the terminal over. False if there is none that it can be done with. */
bool screen_open(bool colour);
void screen_close(void);

unsigned screen_get_width(void);
unsigned screen_get_height(void);

void screen_clear(void);

/* Writes `length` bytes of text into a line, from 0; what is too wide is cut. */
void screen_put(unsigned line, const char *text, size_t length, enum screen_ink ink);

/* Shows what was put. */
void screen_show(void);

/* A character or an enum screen_key. Waits at most so long. */
int screen_read(int timeout_ms);

#endif
