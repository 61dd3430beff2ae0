/* units.c -- frames by address from DWARF.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three levels, each built when an address first needs it: units by address; in a unit, functions
 * by address; in a function, inlined calls by address. A look-up is then three binary searches and
 * one in the line table.
 *
 * Which addresses a unit covers is in its entry, and in a table that some compilers make for all
 * units. The table is read in a tenth of the time, but it may leave units out: where it does not
 * lead to one, all entries are read. */
#include "symbol/units.h"

#include <stdbool.h>

#include <dwarf.h>

#include "base/map.h"
#include "symbol/dies.h"
#include "symbol/inlines.h"
#include "symbol/notes.h"
#include "symbol/scopes.h"
#include "symbol/spans.h"

/* Namespaces, types and functions in each other: real code stays below 30, and libdw walks what is
 * below an entry again on its way to the next one, so that a hostile file could make the walk
 * quadratic. */
#define DEPTH_MAX 64

struct function {
	Dwarf_Die die;
	struct inlines *inlines; /* NULL: not read */
};

enum progress { UNIT_UNREAD, UNIT_SKIMMED, UNIT_SEARCHED };

struct unit {
	Dwarf_CU *cu;
	Dwarf_Die lines; /* the unit's entry in the main file: it has the line table */
	Dwarf_Die root;	 /* the entry above the functions; another one with split DWARF */
	enum progress progress;
	VEC(struct function) functions;
	struct spans spans; /* item: index into functions */
};

/* Units by address. */
struct cover {
	struct spans spans; /* item: index into entries */
	VEC(Dwarf_Off) entries;
	bool is_read;
};

struct units {
	Dwarf *dwarf;
	const struct object *code;
	VEC(struct unit) list; /* those that were needed */
	struct map listed;     /* offset of a unit's entry -> index into list, plus one */
	struct cover table;    /* by the table of the compilers */
	struct cover whole;    /* by all entries */
	struct scopes scopes;
	struct notes paths; /* relative file name -> absolute one */
};

/* ---- units by address ------------------------------------------------------------------------ */

static uint32_t add_entry(struct cover *c, Dwarf_Off entry)
{
	if (!c->entries.count || c->entries.at[c->entries.count - 1] != entry)
		*vec_push(&c->entries) = entry;
	return (uint32_t)c->entries.count - 1;
}

static void read_table(struct units *u)
{
	Dwarf_Aranges *ranges;
	size_t count;

	u->table.is_read = true;
	if (dwarf_getaranges(u->dwarf, &ranges, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr low;
		Dwarf_Word bytes;
		Dwarf_Off entry;

		if (dwarf_getarangeinfo(dwarf_onearange(ranges, i), &low, &bytes, &entry) == 0 &&
		    object_has_code(u->code, low) && bytes <= UINT64_MAX - low)
			spans_add(&u->table.spans,
				  (struct span){low, low + bytes, add_entry(&u->table, entry), 0});
	}
	spans_flatten(&u->table.spans);
}

static void read_entries(struct units *u)
{
	struct dies_target target = {&u->whole.spans, u->code};
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	u->whole.is_read = true;
	while (dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			dies_add_spans(&die, &target, add_entry(&u->whole, dwarf_dieoffset(&die)),
				       0);
	spans_flatten(&u->whole.spans);
}

static bool is_compiled(Dwarf_CU *cu)
{
	uint8_t type;

	return dwarf_cu_info(cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	       (type == DW_UT_compile || type == DW_UT_skeleton);
}

/* The unit with that entry; NULL if there is none. */
static struct unit *reserve_unit(struct units *u, Dwarf_Off entry)
{
	uint32_t *known = map_reserve(&u->listed, entry);
	Dwarf_Die die;

	if (!*known) {
		struct unit *unit = vec_push(&u->list);

		*unit = (struct unit){0};
		*known = (uint32_t)u->list.count;
		if (dwarf_offdie(u->dwarf, entry, &die) && is_compiled(die.cu))
			*unit = (struct unit){.cu = die.cu, .lines = die, .root = die};
	}
	struct unit *unit = &u->list.at[*known - 1];
	return unit->cu ? unit : NULL;
}

static struct unit *find_covering(struct units *u, const struct cover *c, uint64_t address)
{
	const struct span *span = spans_find(&c->spans, address);

	return span ? reserve_unit(u, c->entries.at[span->item]) : NULL;
}

/* In the same order for each address, so that it does not matter which others were asked for. */
static struct unit *find_unit(struct units *u, uint64_t address)
{
	if (!u->table.is_read)
		read_table(u);
	struct unit *unit = find_covering(u, &u->table, address);
	if (unit && dwarf_haspc(&unit->lines, address) == 1)
		return unit;
	if (!u->whole.is_read)
		read_entries(u);
	return find_covering(u, &u->whole, address);
}

struct units *units_new(Dwarf *dwarf, const struct object *code)
{
	struct units *u = mem_new(1, sizeof(*u));

	u->dwarf = dwarf;
	u->code = code;
	return u;
}

static void free_unit(struct unit *unit)
{
	for (size_t i = 0; i < unit->functions.count; i++)
		inlines_free(unit->functions.at[i].inlines);
	vec_free(&unit->functions);
	spans_free(&unit->spans);
}

static void free_cover(struct cover *c)
{
	spans_free(&c->spans);
	vec_free(&c->entries);
}

void units_free(struct units *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->list.count; i++)
		free_unit(&u->list.at[i]);
	vec_free(&u->list);
	map_free(&u->listed);
	free_cover(&u->table);
	free_cover(&u->whole);
	scopes_fini(&u->scopes);
	notes_free(&u->paths);
	free(u);
}

/* ---- functions of a unit --------------------------------------------------------------------- */

struct walk {
	struct unit *unit;
	struct dies_target target;
	Dwarf_Off last;
};

/* Nearly all functions are directly in the unit or in namespaces. Those inside types and other
 * functions (Rust, Fortran, nested C) are looked for only when an address was not found, since
 * types are most of a unit. */
static bool may_hold_functions(int tag, enum progress effort)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return effort == UNIT_SEARCHED;
	default:
		return false;
	}
}

static void add_function(struct walk *w, Dwarf_Die *die, uint32_t depth)
{
	size_t before = w->target.spans->list.count;

	dies_add_spans(die, &w->target, (uint32_t)w->unit->functions.count, depth);
	if (w->target.spans->list.count > before)
		*vec_push(&w->unit->functions) = (struct function){.die = *die};
}

static void read_below(struct walk *w, Dwarf_Die *parent, uint32_t depth)
{
	Dwarf_Die child;
	int more = depth < DEPTH_MAX && dies_first(parent, &child, &w->last);

	for (; more; more = dies_next(&child, &w->last)) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add_function(w, &child, depth);
		if (may_hold_functions(tag, w->unit->progress))
			read_below(w, &child, depth + 1);
	}
}

/* With split DWARF the functions are in another file, which is opened only now. */
static void find_root(struct unit *unit)
{
	Dwarf_Die split;
	uint8_t type;

	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid)
		unit->root = split;
}

static void read_functions(struct unit *unit, const struct object *code, enum progress effort)
{
	struct walk w = {.unit = unit, .target = {&unit->spans, code}};

	if (unit->progress == UNIT_UNREAD)
		find_root(unit);
	free_unit(unit);
	unit->progress = effort;
	read_below(&w, &unit->root, 0);
	spans_flatten(&unit->spans);
}

static struct function *find_function(struct unit *unit, uint64_t address,
				      const struct object *code)
{
	const struct span *span;

	if (unit->progress == UNIT_UNREAD)
		read_functions(unit, code, UNIT_SKIMMED);
	span = spans_find(&unit->spans, address);
	if (!span && unit->progress == UNIT_SKIMMED) {
		read_functions(unit, code, UNIT_SEARCHED);
		span = spans_find(&unit->spans, address);
	}
	return span ? &unit->functions.at[span->item] : NULL;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* DW_LANG_C_plus_plus_17 and _20, which older <dwarf.h> do not have. */
#define LANG_CPLUSPLUS_17 0x2a
#define LANG_CPLUSPLUS_20 0x2b

static bool is_cplusplus(Dwarf_Die *root)
{
	switch (dwarf_srclang(root)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case LANG_CPLUSPLUS_17:
	case LANG_CPLUSPLUS_20:
		return true;
	default:
		return false;
	}
}

static const char *find_name(struct units *u, struct unit *unit, Dwarf_Die *die)
{
	const char *name = dies_find_linkage_name(die);

	if (!name && is_cplusplus(&unit->lines))
		name = scopes_find_name(&u->scopes, die);
	return name ? name : dies_find_plain_name(die);
}

/* Distributions cut their build directories off; what is left then stays relative. */
static const char *make_absolute(struct units *u, struct unit *unit, const char *file)
{
	Dwarf_Attribute found;
	const char *dir;

	if (!file || file[0] == '/')
		return file;
	dir = dwarf_formstring(dwarf_attr(&unit->lines, DW_AT_comp_dir, &found));
	if (!dir || dir[0] != '/')
		return file;
	void **place = notes_get(&u->paths, file);
	if (!*place)
		*place = mem_format("%s/%s", dir, file);
	return *place;
}

/* A source position: of the address itself at first, then of one inlined call after the other. */
static struct symbol_frame find_line(struct units *u, struct unit *unit, uint64_t address)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, address);
	struct symbol_frame frame = {0};
	int number;

	if (!line)
		return frame;
	frame.file = make_absolute(u, unit, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame.line = (uint32_t)number;
	return frame;
}

static struct symbol_frame find_call(struct units *u, struct unit *unit, Dwarf_Die *inlined)
{
	struct symbol_frame frame = {.line = (uint32_t)dies_get_number(inlined, DW_AT_call_line)};
	Dwarf_Files *files;
	size_t count, index = dies_get_number(inlined, DW_AT_call_file);

	if (dwarf_getsrcfiles(&unit->root, &files, &count) == 0 && index < count)
		frame.file = make_absolute(u, unit, dwarf_filesrc(files, index, NULL, NULL));
	return frame;
}

static void add_frame(struct units_frames *frames, struct symbol_frame place, const char *name,
		      bool inlined)
{
	place.function = name;
	place.inlined = inlined;
	*vec_push(&frames->list) = place;
}

void units_find(struct units *u, uint64_t address, struct units_frames *frames)
{
	struct unit *unit = find_unit(u, address);
	Dwarf_Die *inlined;
	uint32_t id;

	if (!unit)
		return;
	struct function *function = find_function(unit, address, u->code);
	struct symbol_frame place = find_line(u, unit, address);
	if (!function) {
		if (place.file)
			add_frame(frames, place, NULL, false);
		return;
	}
	if (!function->inlines)
		function->inlines = inlines_new(&function->die, u->code);
	for (inlined = inlines_find(function->inlines, address, &id); inlined;
	     inlined = inlines_find_outer(function->inlines, &id)) {
		add_frame(frames, place, find_name(u, unit, inlined), true);
		place = find_call(u, unit, inlined);
	}
	add_frame(frames, place, find_name(u, unit, &function->die), false);
}
