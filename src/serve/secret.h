/* secret.h -- texts that cannot be guessed. Runs: anywhere offline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_SECRET_H
#define MIDDEN_SERVE_SECRET_H

#include <stdbool.h>

#define SECRET_CHARS 32 /* 128 bits in hexadecimal digits */

/* A fresh one, ending in NUL. False if the kernel gives no random numbers. */
bool secret_make(char text[SECRET_CHARS + 1]);

/* Whether `text` is the secret; takes as long whatever it is. NULL is not. */
bool secret_is(const char secret[SECRET_CHARS + 1], const char *text);

/* The same of a secret of any length, which alone is not kept. */
bool secret_equals(const char *secret, const char *text);

#endif
