/* error.h -- one error, filled by the first fault. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_ERROR_H
#define MIDDEN_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise. Functions that take one return 0 or a negative number (or NULL) on failure
 * and have then put a one-line message without newline into `text`; only the first call to
 * error_set wins. */
struct error {
	bool set;
	int64_t offset; /* byte offset in a file, or -1 */
	char text[512];
};

/* Records a printf-style message. Returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with the byte offset at which the input is wrong. */
int error_set_at(struct error *e, int64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, followed by ": " and strerror(errno) as it was on entry. */
int error_set_errno(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
