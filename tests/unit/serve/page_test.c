/* page_test.c -- the viewer's page with profiles in it. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#include <cmocka.h>

#include "packed.h"
#include "serve/page.h"

#define MARK	    "<!--midden-data-->"
#define PLAIN_BYTES (16u << 20) /* more than any pack of these tests has */

/* gzip'd bytes as they were. */
static void unpack(struct packed *p, const char *bytes, size_t count)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)count};
	char *plain = malloc(PLAIN_BYTES);

	assert_non_null(plain);
	z.next_out = (Bytef *)plain;
	z.avail_out = PLAIN_BYTES;
	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	packed_open(p, plain, z.total_out);
	(void)inflateEnd(&z);
}

static unsigned value_of(char digit)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = digit ? strchr(digits, digit) : NULL;

	if (!at)
		fail_msg("%d is no digit", digit);
	return (unsigned)(at - digits);
}

/* Base64 as a browser reads it; malloc'ed. */
static char *decode(const char *text, size_t length, size_t *bytes)
{
	char *out = malloc(length + 1);

	assert_true(out && length % 4 == 0);
	*bytes = 0;
	for (size_t i = 0; i < length; i += 4) {
		size_t padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
		unsigned bits = value_of(text[i]) << 18 | value_of(text[i + 1]) << 12;

		assert_true(padding == 0 || i + 4 == length);
		bits |= padding < 2 ? value_of(text[i + 2]) << 6 : 0;
		bits |= padding < 1 ? value_of(text[i + 3]) : 0;
		for (size_t j = 0; j < 3 - padding; j++)
			out[(*bytes)++] = (char)(bits >> (16 - 8 * j));
	}
	return out;
}

static struct pack_request request_of(const struct model *m)
{
	return (struct pack_request){.model = m};
}

static char *write_page(const struct pack_request *now, const struct pack_request *old)
{
	struct error e = {.offset = -1};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(page_write(out, now, old, &e), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), bytes);
	return text;
}

/* The data under an id in a page. */
static void read_data(struct packed *p, const char *page, const char *id)
{
	char opening[96];
	size_t bytes;

	(void)snprintf(opening, sizeof(opening), "<data hidden id=\"%s\" value=\"", id);
	const char *at = strstr(page, opening);
	assert_non_null(at);
	at += strlen(opening);
	char *packed = decode(at, strcspn(at, "\""), &bytes);
	assert_memory_equal(at + strcspn(at, "\""), "\"></data>", 9);
	unpack(p, packed, bytes);
	free(packed);
}

static void the_page_has_one_place_for_data_before_its_script(void **state)
{
	size_t bytes;
	const char *page = page_get(&bytes);

	(void)state;
	assert_int_equal(strlen(page), bytes);
	const char *mark = strstr(page, MARK);
	assert_non_null(mark);
	assert_null(strstr(mark + 1, MARK));
	assert_non_null(strstr(mark, "<script"));
}

static void what_is_compressed_is_the_pack(void **state)
{
	struct profile *profile = sample_tables();
	struct model *m = model_new(profile, &(struct model_options){0});
	const struct pack_request r = request_of(m);
	struct packed plain = packed_make(&r);
	struct error e = {.offset = -1};
	struct packed p;
	size_t bytes;
	char *data = page_compress(&r, &bytes, &e);

	(void)state;
	assert_non_null(data);
	unpack(&p, data, bytes);
	assert_int_equal(p.count, plain.count);
	assert_memory_equal(p.bytes, plain.bytes, p.count);
	packed_free(&p);
	packed_free(&plain);
	free(data);
	model_free(m);
	profile_free(profile);
}

static void a_page_holds_its_profile(void **state)
{
	struct profile *profile = sample_tables();
	struct model *m = model_new(profile, &(struct model_options){0});
	const struct pack_request r = request_of(m);
	char *page = write_page(&r, NULL);
	struct packed p;

	(void)state;
	read_data(&p, page, "midden-data");
	assert_true(packed_value(&p, "site.at_peak_bytes", 0) == 600);
	assert_null(strstr(page, "id=\"midden-old\""));
	assert_null(strstr(page, MARK));
	assert_null(strstr(page, "<!--midden-old-->"));
	packed_free(&p);
	free(page);
	model_free(m);
	profile_free(profile);
}

static void a_page_may_hold_one_to_compare_with(void **state)
{
	struct profile *profile = sample_tables(), *empty = sample_new();
	struct model *m = model_new(profile, &(struct model_options){0});
	struct model *none = model_new(empty, &(struct model_options){0});
	const struct pack_request now = request_of(m), old = request_of(none);
	char *page = write_page(&now, &old);
	struct packed p;

	(void)state;
	/* So that what has been asked for is shown before it is read. */
	assert_true(strstr(page, "id=\"midden-old\"") > strstr(page, "<script>"));
	read_data(&p, page, "midden-old");
	assert_int_equal(packed_find(&p, "site.node").count, 0);
	packed_free(&p);
	read_data(&p, page, "midden-data");
	assert_int_equal(packed_find(&p, "site.node").count, 4);
	packed_free(&p);
	free(page);
	model_free(none);
	model_free(m);
	profile_free(empty);
	profile_free(profile);
}

/* A name cannot end the element that holds it, nor stand where the data goes. */
static void hostile_names_do_not_show_in_the_page(void **state)
{
	struct profile *profile = sample_new();

	(void)state;
	sample_site(profile, sample_node(profile, 0, "</script><img src=x onerror=alert(1)>", 1), 1,
		    1);
	sample_site(profile, sample_node(profile, 0, MARK, 1), 1, 1);
	struct model *m = model_new(profile, &(struct model_options){0});
	const struct pack_request r = request_of(m);
	char *page = write_page(&r, NULL);
	struct packed p;
	assert_null(strstr(page, "onerror=alert"));
	assert_null(strstr(page, MARK));
	read_data(&p, page, "midden-data");
	assert_int_equal(packed_find(&p, "site.node").count, 2);
	packed_free(&p);
	free(page);
	model_free(m);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_has_one_place_for_data_before_its_script),
		cmocka_unit_test(what_is_compressed_is_the_pack),
		cmocka_unit_test(a_page_holds_its_profile),
		cmocka_unit_test(a_page_may_hold_one_to_compare_with),
		cmocka_unit_test(hostile_names_do_not_show_in_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
