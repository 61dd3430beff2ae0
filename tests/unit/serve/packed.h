/* packed.h -- reads what pack_write wrote, column by column. Runs: in unit tests of the serve room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_PACKED_H
#define MIDDEN_TESTS_PACKED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/pack.h"

#include "../model/sample.h"

struct packed {
	char *bytes;
	size_t count;
	char *header; /* a copy that ends with NUL */
	const char *columns;
};

/* A column where it lies. */
struct packed_column {
	const char *type;
	const void *at;
	size_t count;
	bool is_in_planes;
};

static inline void packed_open(struct packed *p, char *bytes, size_t count)
{
	uint64_t length;

	assert_true(count >= 16);
	assert_memory_equal(bytes, "MDNPACK1", 8);
	memcpy(&length, bytes + 8, sizeof(length));
	assert_true(length % 8 == 0 && length <= count - 16);
	p->bytes = bytes;
	p->count = count;
	p->header = strndup(bytes + 16, length);
	p->columns = bytes + 16 + length;
	assert_int_equal(strlen(p->header), length); /* JSON has no NUL in it */
}

static inline struct packed packed_make(const struct pack_request *r)
{
	struct packed p;
	struct error e = {.offset = -1};
	char *bytes = NULL;
	size_t count;
	FILE *out = open_memstream(&bytes, &count);

	assert_non_null(out);
	assert_int_equal(pack_write(out, r, &e), 0);
	assert_int_equal(fclose(out), 0);
	packed_open(&p, bytes, count);
	return p;
}

static inline void packed_free(struct packed *p)
{
	free(p->bytes);
	free(p->header);
}

static inline unsigned long packed_number(const char *object, const char *key)
{
	const char *at = strstr(object, key);

	assert_non_null(at);
	return strtoul(at + strlen(key), NULL, 10);
}

static inline struct packed_column packed_find(const struct packed *p, const char *name)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "\"%s\": {", name);
	const char *object = strstr(p->header, key);
	if (!object)
		fail_msg("there is no column %s", name);
	size_t at = packed_number(object, "\"at\": ");
	struct packed_column c = {.type = strstr(object, "\"type\": \"") + 9,
				  .at = p->columns + at,
				  .count = packed_number(object, "\"count\": ")};
	const char *planes = strstr(object, "\"planes\": true");
	c.is_in_planes = planes && planes < strchr(object, '}');
	size_t unit = c.type[0] == 'f' ? 8 : c.type[1] == '3' ? 4 : 1;
	assert_true(at % 8 == 0);
	assert_true((const char *)c.at + c.count * unit <= p->bytes + p->count);
	return c;
}

static inline uint32_t packed_id(const struct packed *p, const char *name, size_t row)
{
	struct packed_column c = packed_find(p, name);

	assert_true(row < c.count && strncmp(c.type, "u32", 3) == 0 && !c.is_in_planes);
	return ((const uint32_t *)c.at)[row];
}

static inline double packed_value(const struct packed *p, const char *name, size_t row)
{
	struct packed_column c = packed_find(p, name);

	assert_true(row < c.count && strncmp(c.type, "f64", 3) == 0 && !c.is_in_planes);
	return ((const double *)c.at)[row];
}

/* A text by its number; the caller frees. */
static inline char *packed_text(const struct packed *p, uint32_t number)
{
	struct packed_column bytes = packed_find(p, "text.bytes");
	uint32_t begin = number ? packed_id(p, "text.end", number - 1) : 0;
	uint32_t end = packed_id(p, "text.end", number);

	assert_true(begin <= end && end <= bytes.count);
	return strndup((const char *)bytes.at + begin, end - begin);
}

#endif
