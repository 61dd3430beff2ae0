/* cfi.h -- call frame information: how to get from a pc and its registers to the caller's.
 * Runs: anywhere in the target, inside malloc, maybe in a signal handler; no lock, no allocation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three steps: cfi_find locates the FDE of a pc in an object's .eh_frame, cfi_run executes its
 * program up to the pc and leaves a row of rules, cfi_evaluate computes a DWARF expression that a
 * rule may hold. The tables belong to loaded objects, which may be damaged where the program itself
 * never looks: every read is bounded by what the object has mapped. */
#ifndef MIDDEN_CAPTURE_CFI_H
#define MIDDEN_CAPTURE_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/image.h"

enum cfi_kind {
	CFI_UNSAID = 0, /* no rule: unchanged for a callee-saved register */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,	/* saved at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER,	/* is in register `value` */
	CFI_EXPRESSION, /* saved at the address that the expression gives */
	CFI_VAL_EXPRESSION,
};

struct cfi_rule {
	uint32_t kind;
	uint32_t length; /* of an expression */
	int64_t value;	 /* offset, register number, or address of the expression */
};

struct cfi_row {
	struct cfi_rule
		cfa; /* CFI_OFFSET: register `cfa_register` + value; or CFI_VAL_EXPRESSION */
	uint32_t cfa_register;
	struct cfi_rule regs[ARCH_REGS];
};

/* Where a function's rules are. */
struct cfi_entry {
	const uint8_t *instructions;
	const uint8_t *instructions_end;
	const uint8_t *initial; /* of the CIE */
	const uint8_t *initial_end;
	uint64_t pc_start;
	uint64_t pc_end;
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_register;
	uint64_t moved; /* as in struct cfi_cursor */
	uint8_t pointer_encoding;
	bool signal_frame;
	bool has_augmentation; /* the FDE has a length of augmentation data before its program */
};

/* Space for one run; it is too big for a small thread's stack. */
#define CFI_REMEMBER 6 /* nested remember_state; compilers use one or two */
struct cfi_work {
	struct cfi_row row;
	struct cfi_row initial;
	struct cfi_row remembered[CFI_REMEMBER];
};

/* Encodings of pointers that more than one file writes or reads (DW_EH_PE_*). */
#define CFI_ABSPTR 0x00
#define CFI_UDATA4 0x03

/* Bytes of an .eh_frame_hdr before its table, at least and at most: version, encodings of
 * .eh_frame's address, the count and the table; then the first two, of four or eight bytes. */
#define CFI_HEADER_LEAST 12
#define CFI_HEADER_MOST	 20

/* Whether the .eh_frame_hdr at `hdr`, of which `head` is a copy, and its table lie in what can be
 * read of the object. What an object without headers says of itself is believed, here as below. */
bool cfi_is_within(const struct image *image, const uint8_t *head, uint64_t hdr);

/* Finds the entry that covers pc through the object's .eh_frame_hdr at `hdr`, which is one that
 * cfi_is_within found good, or our own (cfi_index.h). Entries must lie in the object; NULL: they
 * are known to be good. False: none. */
bool cfi_find(const struct image *image, const uint8_t *hdr, uint64_t pc, struct cfi_entry *entry);

/* The address of .eh_frame, if the header at `hdr`, of which `head` is a copy, has no table that can be searched; else 0. */
uint64_t cfi_find_untabled(const uint8_t *head, uint64_t hdr);

/* Reads the FDE at `fde`. It and its CIE must lie in the object; without one (NULL) they are known
 * to be in mapped memory. False: not understood. */
bool cfi_read_fde(const struct image *image, const uint8_t *fde, struct cfi_entry *entry);

/* The same of an FDE and a CIE (NULL: where the FDE says) that may be copies, the FDE `moved` bytes
 * before where it belongs; copies have no image. */
bool cfi_read_parts(const struct image *image, const uint8_t *fde, const uint8_t *cie,
		    uint64_t moved, struct cfi_entry *entry);

/* The table of an .eh_frame_hdr: rows of (start of function, FDE). */
struct cfi_table {
	uint64_t hdr;
	uint64_t rows;
	uint64_t count;
	bool wide; /* rows hold addresses (cfi_index.c), not 32-bit offsets from the header */
};

/* Reads a header, of which `head` is a copy. False: it has no table. */
bool cfi_read_header(const uint8_t *head, uint64_t hdr, struct cfi_table *table);

/* Runs the entry's program for pc; the result is in work->row. False: an instruction we do not
 * know. */
bool cfi_run(const struct cfi_entry *entry, uint64_t pc, struct cfi_work *work);

/* How an expression reads memory; false: it may not. */
struct cfi_memory {
	bool (*read)(void *context, uint64_t address, uint64_t *value);
	void *context;
};

/* Evaluates the expression of `rule` with the registers; `cfa` is pushed first for register rules
 * (NULL for the CFA's own expression). */
bool cfi_evaluate(const struct cfi_rule *rule, const uint64_t regs[ARCH_REGS], const uint64_t *cfa,
		  const struct cfi_memory *memory, uint64_t *result);

/* ---- the bounded reader that all three use --------------------------------------------------- */

struct cfi_cursor {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t moved; /* what is read is a copy: so far before the address that it belongs to */
	bool bad;	/* read past the end; values are zero from then on */
};

/* One byte; programs are mostly made of these. */
static inline uint8_t cfi_take_byte(struct cfi_cursor *c)
{
	if (c->bad || c->at >= c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

uint64_t cfi_take_fixed(struct cfi_cursor *c, unsigned bytes);
uint64_t cfi_take_uleb(struct cfi_cursor *c);
int64_t cfi_take_sleb(struct cfi_cursor *c);

/* A pointer in a DW_EH_PE encoding; `data_base` for datarel. */
uint64_t cfi_take_pointer(struct cfi_cursor *c, uint8_t encoding, uint64_t data_base);

#endif
