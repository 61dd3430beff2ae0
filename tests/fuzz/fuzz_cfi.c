/* fuzz_cfi.c -- hostile unwind information in a loaded object.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is {u8 where, .eh_frame_hdr and .eh_frame}: it is put behind the headers of an object
 * in memory, and .eh_frame begins `where` words behind .eh_frame_hdr. Nothing outside of the object
 * may be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capture/cfi.h"
#include "capture/cfi_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define TABLES_AT 256u /* behind the headers */
#define ROWS_MOST 32u

struct headers {
	Elf64_Ehdr elf;
	Elf64_Phdr load;
};

static void put_headers(uint8_t *memory, size_t bytes)
{
	struct headers h = {
		.elf = {.e_ident = ELFMAG,
			.e_phoff = offsetof(struct headers, load),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1},
		.load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = bytes},
	};

	memcpy(memory, &h, sizeof(h));
}

/* Words of a program's stack; every eighth cannot be read. */
static bool read_word(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	*value = address * UINT64_C(0x9e3779b97f4a7c15);
	return address % 64 != 0;
}

static void evaluate(const struct cfi_rule *rule, const uint64_t *cfa)
{
	static const struct cfi_memory memory = {.read = read_word};
	uint64_t regs[ARCH_REGS], value;

	for (unsigned i = 0; i < ARCH_REGS; i++)
		regs[i] = 0x7fff0000u + i * 8u;
	if (rule->kind == CFI_EXPRESSION || rule->kind == CFI_VAL_EXPRESSION)
		(void)cfi_evaluate(rule, regs, cfa, &memory, &value);
}

static void run(const struct cfi_entry *entry, uint64_t pc)
{
	static struct cfi_work work;
	const uint64_t cfa = 0x7fff1000;

	if (!cfi_run(entry, pc, &work))
		return;
	if (work.row.cfa.kind != CFI_VAL_EXPRESSION && work.row.cfa_register >= ARCH_REGS)
		abort();
	evaluate(&work.row.cfa, NULL);
	for (unsigned i = 0; i < ARCH_REGS; i++)
		evaluate(&work.row.regs[i], &cfa);
}

static void search(const struct image *image, const uint8_t *hdr)
{
	struct cfi_entry entry;

	uint64_t at = (uint64_t)(uintptr_t)hdr;
	uint8_t head[CFI_HEADER_MOST] = {0};

	memcpy(head, hdr, image->map_end - at < sizeof(head) ? image->map_end - at : sizeof(head));
	if (!cfi_is_within(image, head, at))
		return;
	(void)cfi_find_untabled(head, at);
	for (uint64_t pc = image->map_start; pc < image->map_end; pc += 40)
		if (cfi_find(image, hdr, pc, &entry)) {
			if (pc < entry.pc_start || pc >= entry.pc_end)
				abort();
			run(&entry, pc);
		}
}

static void list(const struct image *image, const uint8_t *eh_frame)
{
	struct cfi_index_row rows[ROWS_MOST];
	uint64_t bytes = image->map_end - (uint64_t)(uintptr_t)eh_frame;
	uint64_t count = cfi_index_take_rows(image, eh_frame, bytes, rows, ROWS_MOST);

	for (uint64_t i = 0; i < count && i < ROWS_MOST; i++) {
		const uint8_t *fde = (const uint8_t *)(uintptr_t)rows[i].fde;
		struct cfi_entry entry;

		if (!cfi_read_fde(image, fde, &entry) || entry.pc_start != rows[i].pc)
			abort();
		run(&entry, entry.pc_start);
		run(&entry, entry.pc_end - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	size_t where = bytes ? data[0] * (size_t)4 : 0;
	size_t total = TABLES_AT + (bytes ? bytes - 1 : 0);

	if (bytes < 8 || where > bytes - 1)
		return 0;
	/* A block of its own, whose ends a sanitizer knows. */
	uint8_t *memory = mem_new(total, 1);
	put_headers(memory, total);
	memcpy(memory + TABLES_AT, data + 1, bytes - 1);
	const struct image image = {.map_start = (uint64_t)(uintptr_t)memory,
				    .map_end = (uint64_t)(uintptr_t)memory + total,
				    .bias = (uint64_t)(uintptr_t)memory,
				    .read_start = (uint64_t)(uintptr_t)memory,
				    .read_end = (uint64_t)(uintptr_t)memory + total};
	search(&image, memory + TABLES_AT);
	list(&image, memory + TABLES_AT + where);
	free(memory);
	return 0;
}
