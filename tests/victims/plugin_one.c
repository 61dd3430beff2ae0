/* plugin_one.c -- a plugin whose function plugin_one_make allocates 1111 bytes. Loaded by
 * plugin_host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

enum { BYTES = 1111 };

void *plugin_make(void);
void plugin_drop(void *block);
size_t plugin_bytes(void);

__attribute__((noinline)) static void *plugin_one_make(void)
{
	void *volatile block = malloc(BYTES);

	return block;
}

void *plugin_make(void)
{
	void *volatile block = plugin_one_make();

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
