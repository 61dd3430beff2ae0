/* build_test.c -- stacks, modules and totals of a profile, from honest and from hostile segments.
 * Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>

#include "rig.h"

static int set_up(void **state)
{
	static struct fixture f;

	if (rig_set_up(&f, state))
		return -1;
	f.one = producer_open(f.c, 1);
	return 0;
}

static void only_stacks_of_sites_are_copied_parents_first(void **state)
{
	struct fixture *f = *state;
	uint32_t main_node = producer_add_node(f->c, 0, 0x100, 0);
	uint32_t unused = producer_add_node(f->c, main_node, 0x200, 0);
	uint32_t leaf = producer_add_node(f->c, main_node, 0x300, 0);

	(void)unused;
	producer_alloc(&f->one, 10, 0x1000, 1, leaf);
	producer_alloc(&f->one, 20, 0x2000, 1, main_node);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->nodes.count, 3);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].pc, 0x300);
	assert_int_equal(p->nodes.at[p->nodes.at[p->sites.at[0].node].parent].pc, 0x100);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].parent, p->sites.at[1].node);
}

/* A target that interns from several threads may give a parent the higher number. */
static void a_parent_with_a_higher_number_still_comes_first(void **state)
{
	struct fixture *f = *state;
	enum { LEAF = 2, PARENT = 4 }; /* as producer_take_node counts */
	uint32_t leaf = producer_add_node(f->c, PARENT, 0x300, 0);

	assert_int_equal(leaf, LEAF);
	assert_int_equal(producer_add_node(f->c, 0, 0x100, 0), PARENT);
	producer_alloc(&f->one, 10, 0x1000, 1, leaf);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->nodes.count, 3);
	assert_int_equal(p->nodes.at[1].pc, 0x100);
	assert_int_equal(p->nodes.at[2].parent, 1);
}

static void a_loop_of_stacks_is_cut(void **state)
{
	struct fixture *f = *state;
	uint32_t a = producer_add_node(f->c, 3, 0x100, 0);
	uint32_t b = producer_add_node(f->c, a, 0x200, 0);
	uint32_t self = producer_add_node(f->c, 5, 0x300, 0);

	assert_int_equal(b, 3);
	assert_int_equal(self, 5);

	producer_alloc(&f->one, 10, 0x1000, 1, a);
	producer_alloc(&f->one, 20, 0x2000, 1, b);
	producer_alloc(&f->one, 30, 0x3000, 1, self);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->nodes.count, 4);
	assert_int_equal(p->sites.count, 3);
}

static void indices_out_of_range_become_none(void **state)
{
	struct fixture *f = *state;
	uint32_t node = producer_add_node(f->c, UINT32_MAX, 0x100, 0x00ffffff);
	uint32_t lost = producer_add_node(f->c, 0, 0x100, 0);

	f->c->map.nodes[lost].place = SEGMENT_NODE_PLACE_MASK;

	producer_alloc(&f->one, 10, 0x1000, 1, node);
	producer_alloc(&f->one, 20, 0x2000, 1, node + 1000); /* within the layout, never made */
	producer_alloc(&f->one, 30, 0x3000, 1, 0);
	producer_alloc(&f->one, 40, 0x4000, 1, lost);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->nodes.at[p->sites.at[3].node].pc, 0);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].parent, 0);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].module, 0);
	assert_int_equal(p->sites.at[1].node, 0);
	assert_int_equal(p->sites.at[2].node, 0);
}

static void flags_of_frames_are_kept(void **state)
{
	struct fixture *f = *state;
	uint32_t cut = producer_add_node(f->c, 0, 0x100, SEGMENT_NODE_CUT);
	uint32_t exact = producer_add_node(f->c, cut, 0x200, SEGMENT_NODE_EXACT);

	producer_alloc(&f->one, 10, 0x1000, 1, exact);
	struct profile *p = rig_finish(f);

	assert_true(p->nodes.at[1].cut);
	assert_false(p->nodes.at[1].exact);
	assert_true(p->nodes.at[2].exact);
	assert_false(p->nodes.at[2].cut);
}

static void named_frames_have_their_names_and_no_address(void **state)
{
	struct fixture *f = *state;
	struct segment_named named = {.kind = SEGMENT_NAMED_PYTHON, .line = 12};

	named.function = producer_put_text(f->c, 100, "spam.<locals>.<lambda>");
	named.file = producer_put_text(f->c, 200, "/src/spam.py");
	uint32_t outer = producer_add_named(f->c, 0, &named);
	uint32_t inner = producer_add_node(f->c, outer, 0x300, 0);
	producer_alloc(&f->one, 10, 0x1000, 1, inner);
	producer_alloc(&f->one, 20, 0x2000, 1, outer);
	struct profile *p = rig_finish(f);
	const struct profile_node *node = &p->nodes.at[p->sites.at[1].node];
	const struct profile_frame *frame = &p->frames.at[node->frames];

	assert_int_equal(node->named, PROFILE_NAMED_PYTHON);
	assert_int_equal(node->pc, 0);
	assert_int_equal(node->module, 0);
	assert_string_equal(profile_string(p, frame->function), "spam.<locals>.<lambda>");
	assert_string_equal(profile_string(p, frame->file), "/src/spam.py");
	assert_int_equal(frame->line, 12);
	assert_int_equal(frame->next, 0);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].parent, p->sites.at[1].node);
	assert_int_equal(p->nodes.at[p->sites.at[0].node].named, 0);
	assert_int_equal(p->frames.count, 2);
}

static void hostile_named_frames_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct segment_named named = {.kind = SEGMENT_NAMED_KINDS, .function = UINT32_MAX};
	uint32_t bad_kind = producer_add_named(f->c, 0, &named);

	named.kind = SEGMENT_NAMED_TAG;
	uint32_t bad_text = producer_add_named(f->c, bad_kind, &named);
	uint32_t bad_index = producer_add_named(f->c, bad_text, &named);
	f->c->map.nodes[bad_index].place |= SEGMENT_NODE_PLACE_MASK;
	uint32_t all_flags = producer_add_named(f->c, bad_index, &named);
	f->c->map.nodes[all_flags].place |= SEGMENT_NODE_CUT | SEGMENT_NODE_EXACT;
	producer_alloc(&f->one, 10, 0x1000, 1, all_flags);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->nodes.count, 5);
	assert_int_equal(p->nodes.at[1].named, 0);
	assert_int_equal(p->nodes.at[2].named, PROFILE_NAMED_TAG);
	assert_string_equal(profile_string(p, p->frames.at[p->nodes.at[2].frames].function), "");
	assert_int_equal(p->nodes.at[3].named, 0);
	assert_int_equal(p->nodes.at[4].named, PROFILE_NAMED_TAG);
}

/* Texts that overlap would be copied over and over. */
static void texts_of_named_frames_take_no_more_than_the_segment_holds(void **state)
{
	struct fixture *f = *state;
	uint32_t room = f->c->map.layout.string_bytes, parent = 0;
	uint32_t count = room / 1024;

	memset(f->c->map.strings + 1, 'x', room - 1);
	for (uint32_t i = 0; i < count; i++) {
		struct segment_named named = {.kind = SEGMENT_NAMED_TAG, .function = room - i};

		producer_put_text(f->c, room - 8, "another");
		named.function = room - 8 - 4096 * (i % 2) - i;
		named.file = 1 + i;
		parent = producer_add_named(f->c, parent, &named);
	}
	producer_alloc(&f->one, 10, 0x1000, 1, parent);
	struct profile *p = rig_finish(f);

	assert_true(p->strings.count < 2 * (size_t)room + 3 * 4096);
	assert_int_equal(p->nodes.count, count + 1);
}

static void modules_keep_their_numbers_and_facts(void **state)
{
	struct fixture *f = *state;
	struct segment_module *m = &f->c->map.modules[2];

	memcpy(f->c->map.strings + 10, "/lib/libz.so", 13);
	atomic_store(&f->c->map.header->modules_used, 2);
	m->path_offset = 10;
	m->bias = 0x7000;
	m->map_start = 0x7000;
	m->map_end = 0x9000;
	m->load_ticks = 123;
	m->build_id_bytes = 3;
	memcpy(m->build_id, "\1\2\3", 3);
	atomic_store(&m->ready, 1);
	uint32_t node = producer_add_node(f->c, 0, 0x7100, 2);
	producer_alloc(&f->one, 10, 0x1000, 1, node);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->modules.count, 3);
	assert_int_equal(p->modules.at[1].map_end, 0); /* never made ready */
	assert_string_equal(profile_string(p, p->modules.at[2].path), "/lib/libz.so");
	assert_int_equal(p->modules.at[2].bias, 0x7000);
	assert_int_equal(p->modules.at[2].map_end, 0x9000);
	assert_int_equal(p->modules.at[2].load_time_ns, 123);
	assert_int_equal(p->modules.at[2].build_id_bytes, 3);
	assert_int_equal(p->modules.at[2].build_id[2], 3);
	assert_int_equal(p->nodes.at[1].module, 2);
}

static void hostile_modules_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct segment_map *map = &f->c->map;

	atomic_store(&map->header->modules_used, UINT32_MAX);
	memset(map->strings + map->layout.string_bytes - 8, 'x', 8);
	map->modules[1].path_offset = map->layout.string_bytes - 8; /* no NUL before the end */
	map->modules[2].path_offset = UINT32_MAX;
	map->modules[1].build_id_bytes = UINT32_MAX;
	map->modules[1].map_start = 5;
	map->modules[1].load_ticks = UINT64_MAX;
	atomic_store(&map->modules[1].ready, 1);
	atomic_store(&map->modules[2].ready, 1);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->modules.count, map->layout.module_count);
	assert_string_equal(profile_string(p, p->modules.at[1].path), "xxxxxxxx");
	assert_int_equal(p->modules.at[1].build_id_bytes, 32);
	assert_int_equal(p->modules.at[1].map_end, 5);
	assert_true(p->modules.at[1].load_time_ns <= p->run.duration_ns);
	assert_int_equal(p->modules.at[2].path.v, 0);
}

static void the_run_says_what_the_collector_knows(void **state)
{
	struct fixture *f = *state;

	f->c->hello.machine = EM_AARCH64;
	atomic_store(&f->c->map.header->children, 3);
	struct profile *p = rig_finish(f);

	assert_int_equal(p->run.pid, getpid());
	assert_int_equal(p->run.parent_pid, getppid());
	assert_int_equal(p->run.page_bytes, sysconf(_SC_PAGESIZE));
	assert_int_equal(p->run.children_not_recorded, 3);
	assert_int_equal(p->run.exit_code, -1);
	assert_string_equal(profile_string(p, p->run.machine), "aarch64");
	assert_true(p->run.duration_ns >= 1000000);
	assert_true(p->run.start_unix_ns > UINT64_C(1600000000000000000));
}

static void own_memory_follows_what_is_used(void **state)
{
	struct fixture *f = *state;
	uint64_t before = rig_finish(f)->totals.own_memory_bytes;

	assert_true(before >= SEGMENT_CHUNK_BYTES + (32 << 10));
	assert_true(before < 512 << 10);
	atomic_fetch_add(&f->c->map.header->chunks_used, 10);
	assert_int_equal(rig_finish(f)->totals.own_memory_bytes, before + 10 * SEGMENT_CHUNK_BYTES);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(only_stacks_of_sites_are_copied_parents_first),
		with_fixture(a_parent_with_a_higher_number_still_comes_first),
		with_fixture(a_loop_of_stacks_is_cut),
		with_fixture(indices_out_of_range_become_none),
		with_fixture(flags_of_frames_are_kept),
		with_fixture(named_frames_have_their_names_and_no_address),
		with_fixture(hostile_named_frames_are_bounded),
		with_fixture(texts_of_named_frames_take_no_more_than_the_segment_holds),
		with_fixture(modules_keep_their_numbers_and_facts),
		with_fixture(hostile_modules_are_bounded),
		with_fixture(the_run_says_what_the_collector_knows),
		with_fixture(own_memory_follows_what_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
