/* amounts.h -- sizes, counts and percentages as people type them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_AMOUNTS_H
#define MIDDEN_BASE_AMOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* All want the whole text, without signs and blanks, and refuse what does not fit. */

/* "200", "200M", "1.5G", "64KiB", "10kB", "0B". K, M, G, T and KiB, MiB, ... are powers of 1024; kB
 * or KB, MB, GB, TB are powers of 1000. There are no fractions of a byte. */
bool amounts_parse_bytes(const char *text, uint64_t *bytes);

/* "1000000", "10k", "2.5M": powers of 1000. */
bool amounts_parse_count(const char *text, uint64_t *count);

/* "5%", "0.25%", in parts of a million, to four decimals; at most 4 million percent. */
bool amounts_parse_percent(const char *text, uint64_t *parts);

#endif
