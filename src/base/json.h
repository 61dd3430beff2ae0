/* json.h -- a JSON writer that streams: commas, indentation and escapes, nothing kept in memory.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	struct json j = {.out = file};
 *	json_begin_object(&j, NULL);
 *	json_add_uint(&j, "bytes", 12);
 *	json_end_object(&j);            // and ferror(file) tells whether it worked
 *
 * `key` is NULL for elements of a list and for the outermost value. Text that is not UTF-8 gets
 *U+FFFD in place of each bad byte, so the output is always valid. */
#ifndef MIDDEN_BASE_JSON_H
#define MIDDEN_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	unsigned depth;
	bool follows; /* the open container has an element already */
	bool dense;   /* elements go on in the same line; the caller sets it after the beginning of
			 a container and clears it after its end */
};

void json_begin_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_begin_list(struct json *j, const char *key);
void json_end_list(struct json *j);

void json_add_string(struct json *j, const char *key, const char *text);
/* The same, and null for an empty one. */
void json_add_text(struct json *j, const char *key, const char *text);
void json_add_uint(struct json *j, const char *key, uint64_t value);
void json_add_int(struct json *j, const char *key, int64_t value);
void json_add_bool(struct json *j, const char *key, bool value);
void json_add_null(struct json *j, const char *key);

/* A value that is JSON already. */
void json_add_raw(struct json *j, const char *key, const char *json);

/* With six decimals; `value` must be finite. */
void json_add_real(struct json *j, const char *key, double value);

#endif
