/* holders.c -- gives the variables that hold blocks their names. Runs: offline; called when symbols
 * are looked up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/holders.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

/* A file's path: its name has not been found yet. */
static bool is_unnamed(const struct profile *p, const struct profile_link *link)
{
	return link->kind == PROFILE_LINK_GLOBAL && link->module &&
	       profile_string(p, link->name)[0] == '/';
}

static void name_link(struct profile *p, struct profile_link *link, struct symbol_module *m)
{
	uint64_t offset = 0;
	uint64_t address = link->address - p->modules.at[link->module].bias;
	const char *name = symbol_find_variable(m, address, &offset);

	if (!name || *name == '/')
		return;
	char *text = offset ? mem_format("%s+%" PRIu64, name, offset) : mem_copy_string(name);
	link->name = profile_add_string(p, text);
	free(text);
}

/* All links of a module at once: opening it costs more than a look-up. */
static void name_module(struct profile *p, uint32_t module, const struct symbol_options *options)
{
	const struct profile_module *from = &p->modules.at[module];
	const char *path = profile_string(p, from->path);
	struct error ignored = {0};
	struct symbol_module *m = symbol_open(*path ? path : profile_string(p, p->run.executable),
					      from->build_id_bytes ? from->build_id : NULL,
					      from->build_id_bytes, options, &ignored);

	for (size_t i = 0; m && i < p->links.count; i++)
		if (p->links.at[i].module == module && is_unnamed(p, &p->links.at[i]))
			name_link(p, &p->links.at[i], m);
	symbol_close(m);
}

void holders_resolve(struct profile *p, const struct symbol_options *options)
{
	bool *done = mem_new(p->modules.count, sizeof(*done));

	for (size_t i = 0; i < p->links.count; i++) {
		uint32_t module = p->links.at[i].module;

		if (!is_unnamed(p, &p->links.at[i]) || done[module])
			continue;
		done[module] = true;
		name_module(p, module, options);
	}
	free(done);
}
