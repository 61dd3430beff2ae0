/* utf8.h -- well-formed UTF-8 and nothing else. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_UTF8_H
#define MIDDEN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the code point at the start of a NUL-terminated text. Returns its bytes (1 to 4), or 0 if
 * what is there is not UTF-8 (overlong forms, surrogates and values past U+10FFFF are not); `code`
 * is then the byte. */
size_t utf8_decode(const char *text, uint32_t *code);

/* Code points in a text; a byte that is not UTF-8 counts as one. */
size_t utf8_length(const char *text);

/* True for what must not reach a screen or a text format as it is: controls (C0, DEL, C1), line
 * separators, marks that reorder the text around them, and code points that stand for none. */
bool utf8_is_unsafe(uint32_t code);

#endif
