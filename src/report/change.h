/* change.h -- differences as people read them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_CHANGE_H
#define MIDDEN_REPORT_CHANGE_H

#include "report/human.h"

/* "+1.00 KiB", "-12 B", "0 B" */
struct human change_bytes(int64_t bytes);

/* "+1,234", "-1", "0" */
struct human change_count(int64_t count);

/* "+12.50%", "-100.00%", "0.00%"; "25.0x" from ten times on; "from 0" where there was nothing
 * before. */
struct human change_relative(uint64_t before, uint64_t now);

#endif
