/* utf8.c -- well-formed UTF-8 and nothing else. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* Bytes of the sequence that `lead` opens; 0 if none starts so. */
static size_t sequence_bytes(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

static bool is_scalar(uint32_t code, size_t bytes)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};

	return code >= least[bytes] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

size_t utf8_decode(const char *text, uint32_t *code)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t bytes = sequence_bytes(at[0]);

	*code = at[0];
	if (bytes <= 1)
		return bytes;

	uint32_t value = at[0] & (0x7fu >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		/* The closing NUL is no continuation byte, so this never reads past the end. */
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3fu);
	}
	if (!is_scalar(value, bytes))
		return 0;
	*code = value;
	return bytes;
}

size_t utf8_length(const char *text)
{
	size_t length = 0;
	uint32_t code;

	while (*text) {
		size_t bytes = utf8_decode(text, &code);
		text += bytes ? bytes : 1;
		length++;
	}
	return length;
}

bool utf8_is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || (code & 0xfffe) == 0xfffe;
}
