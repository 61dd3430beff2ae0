/* plugin_two.c -- a plugin whose function plugin_two_make allocates 2222 bytes. Loaded by
 * plugin_host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

enum { BYTES = 2222 };

void *plugin_make(void);
void plugin_drop(void *block);
size_t plugin_bytes(void);

__attribute__((noinline)) static void *plugin_two_make(void)
{
	void *volatile block = malloc(BYTES);

	return block;
}

void *plugin_make(void)
{
	void *volatile block = plugin_two_make();

	return block;
}

void plugin_drop(void *block)
{
	free(block);
}

size_t plugin_bytes(void)
{
	return BYTES;
}
