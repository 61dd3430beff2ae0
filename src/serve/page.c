/* page.c -- the viewer's page, alone or with profiles in it. Runs: offline; called by the server
 * and by `midden html`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve/page.h"

#include <stdlib.h>
#include <string.h>

#include "export/gzip.h"

/* Made from web/dist/page.html by the build. */
extern const char page_html[];

/* Where data goes in the page: before the script that reads it. */
#define MARK	 "<!--midden-data-->"
#define OLD_MARK "<!--midden-old-->" /* behind the script: the page is shown before it is read */

const char *page_get(size_t *bytes)
{
	*bytes = strlen(page_html);
	return page_html;
}

/* ---- compression ----------------------------------------------------------------------------- */

static ssize_t take_written(void *cookie, const char *bytes, size_t count)
{
	gzip_write(cookie, bytes, count);
	return (ssize_t)count;
}

static int write_compressed(FILE *out, const struct pack_request *data, struct error *e)
{
	struct gzip *z = gzip_new(out);
	FILE *plain = fopencookie(z, "w", (cookie_io_functions_t){.write = take_written});
	int result = plain ? pack_write(plain, data, e) : error_set_errno(e, "no stream");

	if (plain && fclose(plain) != 0 && result == 0)
		result = error_set_errno(e, "the page's data cannot be compressed");
	gzip_free(z);
	return result;
}

char *page_compress(const struct pack_request *data, size_t *bytes, struct error *e)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out) {
		error_set_errno(e, "no memory for the page's data");
		return NULL;
	}
	int result = write_compressed(out, data, e);
	if (fclose(out) != 0 && result == 0)
		result = error_set_errno(e, "no memory for the page's data");
	if (result == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- base64 ---------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four digits. */
static void put_group(FILE *out, const unsigned char *b, size_t count)
{
	unsigned bits = (unsigned)b[0] << 16 | (count > 1 ? (unsigned)b[1] << 8 : 0u) |
			(count > 2 ? (unsigned)b[2] : 0u);
	const char group[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
			       count > 1 ? digits[bits >> 6 & 63] : '=',
			       count > 2 ? digits[bits & 63] : '='};

	fwrite(group, 1, sizeof(group), out);
}

static void put_base64(FILE *out, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i += 3)
		put_group(out, (const unsigned char *)bytes + i, count - i < 3 ? count - i : 3);
}

/* ---- the page -------------------------------------------------------------------------------- */

static int put_data(FILE *out, const char *id, const struct pack_request *data, struct error *e)
{
	size_t bytes;
	char *packed = page_compress(data, &bytes, e);

	if (!packed)
		return -1;
	/* An attribute is what browsers read quickest: a script takes half as long again. */
	fprintf(out, "<data hidden id=\"%s\" value=\"", id);
	put_base64(out, packed, bytes);
	fputs("\"></data>\n", out);
	free(packed);
	return 0;
}

int page_write(FILE *out, const struct pack_request *data, const struct pack_request *old,
	       struct error *e)
{
	const char *mark = strstr(page_html, MARK);
	const char *behind = mark ? strstr(mark, OLD_MARK) : NULL;

	if (!behind)
		return error_set(e, "the page has no place for data");
	fwrite(page_html, 1, (size_t)(mark - page_html), out);
	if (put_data(out, "midden-data", data, e))
		return -1;
	mark += sizeof(MARK) - 1;
	fwrite(mark, 1, (size_t)(behind - mark), out);
	if (old && put_data(out, "midden-old", old, e))
		return -1;
	fputs(behind + sizeof(OLD_MARK) - 1, out);
	return 0;
}
