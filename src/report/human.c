/* human.c -- numbers as people read them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t divide(uint64_t value, unsigned scale, uint64_t unit)
{
	return (uint64_t)(((unsigned __int128)value * scale + unit / 2) / unit);
}

/* value / unit with three significant digits. */
static struct human three_digits(uint64_t value, uint64_t unit, const char *name)
{
	uint64_t hundredths = divide(value, 100, unit);
	uint64_t tenths = divide(value, 10, unit);
	struct human h;

	if (hundredths < 1000)
		(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%02" PRIu64 " %s",
			       hundredths / 100, hundredths % 100, name);
	else if (tenths < 1000)
		(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
			       tenths % 10, name);
	else
		(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 " %s", divide(value, 1, unit),
			       name);
	return h;
}

struct human human_bytes(uint64_t bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned unit = 0;
	struct human h;

	/* 1023.5 of a unit would print as 1024: from there on it is one of the next. */
	while (unit < 6 &&
	       bytes >= (UINT64_C(1) << (10 * (unit + 1))) - (UINT64_C(1) << (10 * unit)) / 2)
		unit++;
	if (unit > 0) {
		uint64_t one = UINT64_C(1) << (10 * unit);
		return three_digits(bytes < one ? one : bytes, one, names[unit]);
	}
	(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 " B", bytes);
	return h;
}

struct human human_count(uint64_t count)
{
	char digits[24];
	struct human h;
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			h.text[used++] = ',';
		h.text[used++] = digits[i];
	}
	h.text[used] = '\0';
	return h;
}

struct human human_things(uint64_t count, const char *one)
{
	struct human h = human_count(count);
	size_t used = strlen(h.text);

	(void)snprintf(h.text + used, sizeof(h.text) - used, " %s%s", one, count == 1 ? "" : "s");
	return h;
}

/* The size of a number without its sign; the smallest one has no positive counterpart. */
static uint64_t size_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static struct human with_sign(int64_t value, struct human size)
{
	struct human h;

	(void)snprintf(h.text, sizeof(h.text), "%s%.*s",
		       value < 0   ? "-"
		       : value > 0 ? "+"
				   : "",
		       (int)sizeof(h.text) - 2, size.text);
	return h;
}

struct human human_bytes_change(int64_t bytes)
{
	return with_sign(bytes, human_bytes(size_of(bytes)));
}

struct human human_count_change(int64_t count)
{
	return with_sign(count, human_count(size_of(count)));
}

static struct human two_units(uint64_t major, const char *name, uint64_t minor, const char *small)
{
	struct human h;

	(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 " %s %02" PRIu64 " %s", major, name,
		       minor, small);
	return h;
}

struct human human_duration(uint64_t ns)
{
	static const char *const names[] = {"us", "ms", "s"};
	uint64_t seconds = ns / UINT64_C(1000000000);
	uint64_t unit = 1000;
	unsigned i = 0;
	struct human h;

	if (seconds >= 3600)
		return two_units(seconds / 3600, "h", seconds / 60 % 60, "min");
	if (seconds >= 60)
		return two_units(seconds / 60, "min", seconds % 60, "s");
	if (ns < 1000) {
		(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 " ns", ns);
		return h;
	}
	/* 999.5 us would print as 1000. */
	for (; i < 2 && ns >= unit * 1000 - unit / 2; i++)
		unit *= 1000;
	return three_digits(ns < unit ? unit : ns, unit, names[i]);
}

struct human human_share(uint64_t part, uint64_t whole)
{
	struct human h;
	uint64_t hundredths = 0;

	if (whole)
		hundredths = (uint64_t)(((unsigned __int128)part * 10000 + whole / 2) / whole);
	if (hundredths == 10000 && part < whole)
		hundredths = 9999;
	(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%02" PRIu64 "%%", hundredths / 100,
		       hundredths % 100);
	return h;
}
