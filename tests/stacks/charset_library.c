/* charset_library.c -- one of several modules of iconv alike in everything but their names.
 * Runs: in charsets.c, loaded and unloaded by libc. Built with SWAP_PAD of different sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <gconv.h>

int gconv_init(struct __gconv_step *step);
int gconv(struct __gconv_step *step, struct __gconv_step_data *data, const unsigned char **in,
	  const unsigned char *in_end, unsigned char **out, size_t *irreversible, int flush,
	  int consume);

static __attribute__((noinline)) void marks(void)
{
	volatile char pad[SWAP_PAD] = {1};

	oracle_mark();
	(void)pad[SWAP_PAD - 1];
}

int gconv_init(struct __gconv_step *step)
{
	marks();
	step->__min_needed_from = step->__max_needed_from = 1;
	step->__min_needed_to = step->__max_needed_to = 4;
	step->__stateful = 0;
	return __GCONV_OK;
}

int gconv(struct __gconv_step *step, struct __gconv_step_data *data, const unsigned char **in,
	  const unsigned char *in_end, unsigned char **out, size_t *irreversible, int flush,
	  int consume)
{
	(void)step;
	(void)data;
	(void)out;
	(void)irreversible;
	(void)flush;
	(void)consume;
	*in = in_end;
	return __GCONV_EMPTY_INPUT;
}
