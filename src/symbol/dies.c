/* dies.c -- what this room asks of one DWARF entry (DIE).
 * Runs: offline; called by units.c and inlines.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dies.h"

#include <dwarf.h>

static const char *find_string(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute found;
	const char *text = dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));

	return text && text[0] ? text : NULL;
}

const char *dies_find_linkage_name(Dwarf_Die *die)
{
	const char *name = find_string(die, DW_AT_linkage_name);

	return name ? name : find_string(die, DW_AT_MIPS_linkage_name);
}

const char *dies_find_plain_name(Dwarf_Die *die)
{
	return find_string(die, DW_AT_name);
}

uint64_t dies_get_number(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, attribute, &found), &value) != 0)
		return 0;
	return value;
}

void dies_add_spans(Dwarf_Die *die, const struct dies_target *to, uint32_t item, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (object_has_code(to->code, low))
			spans_add(to->spans, (struct span){low, high, item, depth});
}

static int check_forward(Dwarf_Die *die, Dwarf_Off *last)
{
	Dwarf_Off offset = dwarf_dieoffset(die);

	if (offset <= *last)
		return 0;
	*last = offset;
	return 1;
}

int dies_first(Dwarf_Die *parent, Dwarf_Die *child, Dwarf_Off *last)
{
	return dwarf_child(parent, child) == 0 && check_forward(child, last);
}

int dies_next(Dwarf_Die *child, Dwarf_Off *last)
{
	return dwarf_siblingof(child, child) == 0 && check_forward(child, last);
}
