/* plugin.c -- a library that the torture program loads and unloads, built in several sizes.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * PLUGIN_A .. PLUGIN_D are the numbers of its sites, PLUGIN_PAD what makes it larger than the
 * others, so that one comes to lie where parts of another were. Its constructor makes a block and
 * its destructor gives that back, and makes and gives back another. */
#include "sites.h"

#define SITE_OF(number)	  SITE(number)
#define NAME_OF(number)	  torture_site_##number
#define CALL_OF(number)	  NAME_OF(number)
#define NUMBER_OF(number) (1##number - 100) /* 08 would be octal */
#define VALUE_OF(number)  NUMBER_OF(number)

void *CALL_OF(PLUGIN_A)(const struct ask *a);
void *CALL_OF(PLUGIN_B)(const struct ask *a);
void *CALL_OF(PLUGIN_C)(const struct ask *a);
void *CALL_OF(PLUGIN_D)(const struct ask *a);
SITE_OF(PLUGIN_A)
SITE_OF(PLUGIN_B)
SITE_OF(PLUGIN_C)
SITE_OF(PLUGIN_D)

site_function *const plugin_sites[2] = {CALL_OF(PLUGIN_A), CALL_OF(PLUGIN_B)};
const unsigned plugin_first_site = VALUE_OF(PLUGIN_A);

/* A frame of the plugin's on the way to somewhere else. */
__attribute__((noinline)) void plugin_call(void (*function)(struct worker *), struct worker *worker)
{
	function(worker);
	__asm__ volatile("" : : : "memory");
}

static const struct ask small = {.how = HOW_MALLOC, .bytes = 64 + PLUGIN_PAD, .alignment = 16};
static void *held;
static struct image *held_in; /* a fork child inherits the block, and must not free it as its own */

/* Code that is never run, between the sites and whatever comes next. */
__attribute__((used)) static int pad(volatile int *at)
{
#define ONE at[0] += at[1] * at[2];
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#if PLUGIN_PAD > 1
	TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#endif
#if PLUGIN_PAD > 3
		TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#endif
		return at[0];
}

__attribute__((constructor)) static void begin(void)
{
	unsigned site = VALUE_OF(PLUGIN_C);

	account_begin(site, small.bytes);
	held = CALL_OF(PLUGIN_C)(&small);
	account_got(site, held, small.bytes);
	held_in = account_image;
}

__attribute__((destructor)) static void end(void)
{
	unsigned site = VALUE_OF(PLUGIN_D);

	if (held_in == account_image) {
		account_gone_begin(VALUE_OF(PLUGIN_C), small.bytes);
		free(held);
		account_gone_end(VALUE_OF(PLUGIN_C), small.bytes);
	}
	account_begin(site, small.bytes);
	void *block = CALL_OF(PLUGIN_D)(&small);
	account_got(site, block, small.bytes);
	account_gone_begin(site, small.bytes);
	free(block);
	account_gone_end(site, small.bytes);
}
