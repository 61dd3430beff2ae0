/* human.h -- numbers as people read them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each returns its text by value, to be used on the spot: printf("%s", human_bytes(n).text). The
 * arithmetic is on integers: the same number gives the same text on every machine and in every
 * locale. */
#ifndef MIDDEN_REPORT_HUMAN_H
#define MIDDEN_REPORT_HUMAN_H

#include <stdint.h>

struct human {
	char text[40];
};

/* Three digits and a binary unit: "0 B", "1023 B", "1.00 KiB", "12.3 MiB", "456 GiB". */
struct human human_bytes(uint64_t bytes);

/* "1,234,567" */
struct human human_count(uint64_t count);

/* So many of what is named in the singular: "1 block", "1,234 blocks". At most 12 letters. */
struct human human_things(uint64_t count, const char *one);

/* With a sign: "+1.00 KiB", "-12", "0 B", "0". */
struct human human_bytes_change(int64_t bytes);
struct human human_count_change(int64_t count);

/* "12 ns", "3.40 us", "1.23 s", "2 min 03 s", "5 h 07 min" */
struct human human_duration(uint64_t ns);

/* part / whole in percent with two decimals, "12.50%"; "0.00%" of nothing. Never rounds up to
 * "100.00%" what is not all. */
struct human human_share(uint64_t part, uint64_t whole);

#endif
