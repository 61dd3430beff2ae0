/* secret.c -- texts that cannot be guessed. Runs: anywhere offline.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/secret.h"

#include <string.h>
#include <sys/random.h>

bool secret_make(char text[SECRET_CHARS + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[SECRET_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[SECRET_CHARS] = '\0';
	return true;
}

bool secret_is(const char secret[SECRET_CHARS + 1], const char *text)
{
	return text && strlen(text) == SECRET_CHARS && secret_equals(secret, text);
}

bool secret_equals(const char *secret, const char *text)
{
	size_t length = strlen(secret);
	unsigned char differs = 0;

	if (!text || strlen(text) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(secret[i] ^ text[i]);
	return differs == 0;
}
