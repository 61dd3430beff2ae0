/* chains.c -- call chains kept once each, as a tree from the root. Runs: offline, called by the
 * formats that must not name a stack twice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "export/chains.h"

uint32_t chains_extend(struct chains *c, uint32_t parent, uint32_t id)
{
	if (c->nodes.count == 0)
		*vec_push(&c->nodes) = (struct chain_node){0};
	uint32_t *node = map_reserve(&c->index, (uint64_t)parent << 32 | id);
	if (*node == 0) {
		*node = (uint32_t)c->nodes.count;
		*vec_push(&c->nodes) = (struct chain_node){.id = id, .parent = parent};
	}
	return *node;
}

uint32_t *chains_number(const struct chains *c, size_t ids, uint32_t first)
{
	uint32_t *numbers = mem_new(ids, sizeof(*numbers));

	for (size_t i = 1; i < c->nodes.count; i++)
		numbers[c->nodes.at[i].id] = 1;
	for (size_t i = 0; i < ids; i++)
		numbers[i] = numbers[i] ? first++ : UINT32_MAX;
	return numbers;
}

void chains_write(const struct chains *c, uint32_t node, const uint32_t *numbers, struct json *j,
		  const char *key)
{
	json_begin_list(j, key);
	j->dense = true;
	for (; node; node = c->nodes.at[node].parent)
		json_add_uint(j, NULL, numbers[c->nodes.at[node].id]);
	json_end_list(j);
	j->dense = false;
}

void chains_free(struct chains *c)
{
	vec_free(&c->nodes);
	map_free(&c->index);
}
