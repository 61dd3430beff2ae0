/* sites.c -- the program's own functions that allocate.
 * Runs: any thread of the torture program, signal handlers too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"

#define EACH_SITE(X) \
	X(00)        \
	X(01) X(02) X(03) X(04) X(05) X(06) X(07) X(08) X(09) X(10) X(11) X(12) X(13) X(14) X(15)

#define DECLARE(number) void *torture_site_##number(const struct ask *a);
#define NAME(number)	torture_site_##number,

EACH_SITE(DECLARE)
EACH_SITE(SITE)

site_function *const sites_plain[SITES_PLAIN] = {EACH_SITE(NAME)};
