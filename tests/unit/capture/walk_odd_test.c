/* walk_odd_test.c -- signal frames, other stacks, hand-written and generated code, and plain
 * garbage.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

/* ---- signals --------------------------------------------------------------------------------- */

enum { ALTERNATE_BYTES = 256 * 1024 };

static char *volatile fault_page;

static void take_in_handler(int signal)
{
	walked_take(&walked);
	if (signal == SIGSEGV)
		(void)mprotect(fault_page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
	walked_sink++;
}

static void take_in_nested_handler(int signal)
{
	(void)signal;
	(void)raise(SIGUSR2);
	walked_sink++;
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static void use_alternate_stack(void)
{
	stack_t stack = {.ss_size = ALTERNATE_BYTES};

	stack.ss_sp = mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stack.ss_sp, MAP_FAILED);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
}

/* An emulator may deliver signals through a trampoline that is in no object. */
static void begin_with_signals(void)
{
#if defined(__aarch64__)
	if (getauxval(AT_SYSINFO_EHDR) == 0)
		skip();
#endif
	walked_begin();
}

/* The interrupted frames, and only they, have the pc that was executing and not a return
 * address. */
static void check_exact_frames(const struct walked *w, uint32_t expected)
{
	uint32_t exact = 0;

	for (uint32_t i = 0; i < w->count; i++)
		exact += (w->frames[i].module & SEGMENT_NODE_EXACT) != 0;
	assert_int_equal(exact, expected);
	assert_false(w->frames[0].module & SEGMENT_NODE_EXACT);
}

static void raise_first(void)
{
	(void)raise(SIGUSR1);
	walked_sink++;
}

static void raise_at_many_depths(uint32_t signals)
{
	for (unsigned i = 0; i < 12; i++) {
		walked_recurse(i % 5, raise_first);
		walked_check(&walked);
		check_exact_frames(&walked, signals);
		walked_recurse_alloca(i % 3, walked_take_here);
		walked_check(&walked);
		check_exact_frames(&walked, 0);
	}
	assert_int_equal(walked_truncated(), 0);
}

static void a_signal_handler_is_walked_through_to_the_interrupted_code(void **state)
{
	(void)state;
	begin_with_signals();
	handle(SIGUSR1, take_in_handler, 0);
	raise_at_many_depths(1);
}

static void so_is_one_that_gets_the_context_of_the_signal(void **state)
{
	(void)state;
	begin_with_signals();
	handle(SIGUSR1, take_in_handler, SA_SIGINFO | SA_NODEFER | SA_RESTART);
	raise_at_many_depths(1);
}

static void so_is_one_on_a_stack_of_its_own(void **state)
{
	(void)state;
	begin_with_signals();
	use_alternate_stack();
	handle(SIGUSR1, take_in_handler, SA_ONSTACK);
	raise_at_many_depths(1);
}

static void so_are_handlers_in_handlers(void **state)
{
	(void)state;
#if defined(__SANITIZE_THREAD__)
	skip(); /* it delivers signals when it thinks fit */
#endif
	begin_with_signals();
	use_alternate_stack();
	handle(SIGUSR1, take_in_nested_handler, SA_ONSTACK);
	handle(SIGUSR2, take_in_handler, 0);
	raise_at_many_depths(2);
}

/* A leaf function: on aarch64 its return address is in a register only. */
static NOINLINE char load(const char *from)
{
	return *(const volatile char *)from;
}

static void load_what_faults(void)
{
	assert_int_equal(mprotect(fault_page, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE), 0);
	walked_sink += (unsigned)load(fault_page);
}

static void a_leaf_function_that_faults_is_walked_through(void **state)
{
	(void)state;
	begin_with_signals();
	fault_page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fault_page, MAP_FAILED);
	handle(SIGSEGV, take_in_handler, 0);
	for (unsigned depth = 0; depth < 5; depth++) {
		walked_recurse(depth, load_what_faults);
		walked_check(&walked);
		check_exact_frames(&walked, 1);
	}
	handle(SIGSEGV, SIG_DFL, 0);
}

/* ---- coroutines ------------------------------------------------------------------------------ */

enum { TASKS = 3, TASK_BYTES = 256 * 1024 };

static ucontext_t scheduler, tasks[TASKS];
static struct walked task_stacks[TASKS];
static unsigned current_task;

static void take_in_task(void)
{
	walked_take(&task_stacks[current_task]);
	walked_sink++;
}

static void run_task(void)
{
	for (unsigned i = 0;; i++) {
		walked_recurse_alloca(i % 5, take_in_task);
		(void)swapcontext(&tasks[current_task], &scheduler);
	}
}

static void make_task(ucontext_t *task)
{
	assert_int_equal(getcontext(task), 0);
	task->uc_stack.ss_size = TASK_BYTES;
	task->uc_stack.ss_sp =
		mmap(NULL, TASK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(task->uc_stack.ss_sp, MAP_FAILED);
	makecontext(task, run_task, 0);
}

/* Lets the tasks run in turn, in no simple order. */
static void run_tasks(void)
{
	for (unsigned i = 0; i < TASKS; i++)
		make_task(&tasks[i]);
	for (unsigned i = 0; i < 40; i++) {
		current_task = (i * 7 + i / 5) % TASKS;
		(void)swapcontext(&scheduler, &tasks[current_task]);
		walked_check(&task_stacks[current_task]);
	}
}

static void coroutines_have_their_own_stacks(void **state)
{
	(void)state;
	if (!walked_can_read_far())
		skip();
	walked_begin();
	run_tasks();
}

static void coroutines_are_walked_on_stacks_of_which_nothing_is_known(void **state)
{
	(void)state;
	if (!walked_can_read_far())
		skip();
	walked_begin();
	walked_forget_stack();
	run_tasks();
}

static void where_a_coroutine_began_its_stack_is_complete_and_not_cut(void **state)
{
	(void)state;
	if (!walked_can_read_far())
		skip();
	walked_begin();
	run_tasks();
	assert_int_equal(walked_truncated(), 0);
	assert_int_equal(atomic_load(&thread_self->slot->losses.unwind_failures), 0);
}

/* ---- code without a compiler's tables -------------------------------------------------------- */

/* Calls its argument, with the CFA in a register that is neither sp nor fp. */
void call_with_the_cfa_elsewhere(void (*function)(void));

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl call_with_the_cfa_elsewhere\n"
	".type call_with_the_cfa_elsewhere, @function\n"
	"call_with_the_cfa_elsewhere:\n"
	".cfi_startproc\n"
	"pushq %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"movq %rsp, %rbx\n"
	".cfi_def_cfa_register %rbx\n"
	"subq $160, %rsp\n"
	"andq $-64, %rsp\n"
	"callq *%rdi\n"
	"movq %rbx, %rsp\n"
	".cfi_def_cfa_register %rsp\n"
	"popq %rbx\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_restore %rbx\n"
	"retq\n"
	".cfi_endproc\n"
	".size call_with_the_cfa_elsewhere, . - call_with_the_cfa_elsewhere\n"
	".popsection\n");

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const uint8_t generated_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
__asm__(".pushsection .text\n"
	".globl call_with_the_cfa_elsewhere\n"
	".type call_with_the_cfa_elsewhere, %function\n"
	"call_with_the_cfa_elsewhere:\n"
	".cfi_startproc\n"
	"stp x19, x30, [sp, #-16]!\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 19, -16\n"
	".cfi_offset 30, -8\n"
	"mov x19, sp\n"
	".cfi_def_cfa_register 19\n"
	"sub sp, sp, #160\n"
	"blr x0\n"
	"mov sp, x19\n"
	".cfi_def_cfa_register 31\n"
	"ldp x19, x30, [sp], #16\n"
	".cfi_def_cfa_offset 0\n"
	".cfi_restore 19\n"
	".cfi_restore 30\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_with_the_cfa_elsewhere, . - call_with_the_cfa_elsewhere\n"
	".popsection\n");

/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint8_t generated_code[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00,
					 0x91, 0x00, 0x00, 0x3f, 0xd6, 0xfd, 0x7b,
					 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#endif

static void call_elsewhere_and_take(void)
{
	call_with_the_cfa_elsewhere(walked_take_here);
	walked_sink++;
}

static void call_elsewhere_twice_and_take(void)
{
	call_with_the_cfa_elsewhere(call_elsewhere_and_take);
	walked_sink++;
}

static void a_frame_that_needs_another_register_is_walked_through(void **state)
{
	(void)state;
	walked_begin();
	for (unsigned depth = 0; depth < 5; depth++) {
		walked_recurse(depth, call_elsewhere_and_take);
		walked_check(&walked);
		walked_recurse_alloca(depth, call_elsewhere_twice_and_take);
		walked_check(&walked);
		walked_recurse(depth, walked_take_here);
		walked_check(&walked);
	}
	assert_int_equal(walked_truncated(), 0);
}

typedef void generated_fn(void (*function)(void));

static generated_fn *make_generated(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, generated_code, sizeof(generated_code));
	__builtin___clear_cache(code, code + sizeof(generated_code));
	return (generated_fn *)(uintptr_t)code;
}

static void generated_code_with_frame_records_is_walked_through(void **state)
{
	generated_fn *generated = make_generated();
	static struct walked outer;

	(void)state;
	walked_begin();
	for (volatile unsigned i = 0; i < 3; i++) {
		walked_take(&outer);
		generated(walked_take_here);
		/* take_here, the generated frame, and this function outwards */
		assert_int_equal(walked.count, outer.count + 2);
		assert_in_range(walked.frames[1].pc, (uintptr_t)generated,
				(uintptr_t)generated + sizeof(generated_code));
		assert_int_equal(walked.frames[1].module, 0);
		for (uint32_t frame = 1; frame < outer.count; frame++)
			assert_int_equal(walked.frames[frame + 2].pc, outer.frames[frame].pc);
	}
	assert_int_equal(walked_truncated(), 0);
}

/* ---- garbage --------------------------------------------------------------------------------- */

enum { REGION_BYTES = 64 * 1024 };

static char *region; /* [hole] memory full of numbers [hole] */
static sigjmp_buf fault;
static uint64_t walks;

static void note_fault(int signal)
{
	(void)signal;
	siglongjmp(fault, 1);
}

static void make_region(void)
{
	char *all = mmap(NULL, 3 * REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 99;

	assert_ptr_not_equal(all, MAP_FAILED);
	region = all + REGION_BYTES;
	assert_int_equal(mprotect(region, REGION_BYTES, PROT_READ | PROT_WRITE), 0);
	for (size_t i = 0; i < REGION_BYTES; i += 8) {
		uint64_t value = fixture_random(&random);

		/* numbers, addresses nearby, and return addresses into this program */
		if (value % 4 == 1)
			value = (uint64_t)(uintptr_t)region + value % (2 * REGION_BYTES);
		else if (value % 4 == 2)
			value = (uint64_t)(uintptr_t)walked_take + value % 64;
		memcpy(region + i, &value, 8);
	}
}

static void begin_garbage(void)
{
	walked_begin();
	make_region();
	handle(SIGSEGV, note_fault, SA_NODEFER);
	handle(SIGBUS, note_fault, SA_NODEFER);
	walks = 0;
}

static int end_garbage(void **state)
{
	(void)state;
	handle(SIGSEGV, SIG_DFL, 0);
	handle(SIGBUS, SIG_DFL, 0);
	return 0;
}

/* The walk must come to an end without a fault, and with a stack of allowed size. */
static void walk_from(uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct walk_start start = {.pc = pc, .sp = sp, .fp = fp};
	static struct walk_frame frames[WALKED_ROOM];

	if (sigsetjmp(fault, 0) != 0)
		fail_msg("a fault at pc %#lx sp %#lx fp %#lx", pc, sp, fp);
	uint32_t node = walk_tagged(thread_self, &start);
	assert_in_range(fixture_read_stack(node, frames, WALKED_ROOM), 0, WALKED_DEPTH);
	walks++;
}

static uint64_t garbage_pc(unsigned i)
{
	const uint64_t pcs[] = {0,
				1,
				4096,
				(uint64_t)(uintptr_t)walked_take + 9,
				(uint64_t)(uintptr_t)call_with_the_cfa_elsewhere + 12,
				(uint64_t)(uintptr_t)&walked,
				(uint64_t)(uintptr_t)region,
				(uint64_t)(uintptr_t)raise + 5,
				UINT64_C(0x800000000000),
				UINT64_MAX};

	return i < sizeof(pcs) / sizeof(pcs[0]) ? pcs[i] : 2;
}

static uint64_t garbage_address(unsigned i)
{
	uint64_t here = (uint64_t)(uintptr_t)region;
	const uint64_t addresses[] = {0,
				      8,
				      1,
				      here,
				      here + 8,
				      here + 12,
				      here + REGION_BYTES - 8,
				      here + REGION_BYTES,
				      here + REGION_BYTES + 4096,
				      here - 8,
				      thread_self->slot->stack_high - 8,
				      thread_self->slot->stack_high,
				      UINT64_C(0x7fffffffeff8),
				      UINT64_C(0xffff800000000000),
				      UINT64_MAX - 7,
				      UINT64_MAX};

	return i < sizeof(addresses) / sizeof(addresses[0]) ? addresses[i] : 16;
}

static void on_a_stack_of_which_nothing_is_known_garbage_does_not_fault(void **state)
{
	(void)state;
	begin_garbage();
	walked_forget_stack();
	for (unsigned pc = 0; pc < 11; pc++)
		for (unsigned fp = 0; fp < 17; fp++)
			walk_from(garbage_pc(pc), (uint64_t)(uintptr_t)region + 4096,
				  garbage_address(fp));
	assert_true(walks > 100);
}

static void on_a_coroutines_stack_a_garbage_frame_pointer_does_not_fault(void **state)
{
	(void)state;
	begin_garbage();
	for (unsigned pc = 0; pc < 11; pc++)
		for (unsigned fp = 0; fp < 17; fp++)
			walk_from(garbage_pc(pc), (uint64_t)(uintptr_t)region + 4096,
				  garbage_address(fp));
	assert_true(walks > 100);
}

static void a_garbage_stack_pointer_does_not_fault(void **state)
{
	(void)state;
	begin_garbage();
	for (unsigned pc = 0; pc < 11; pc++)
		for (unsigned sp = 0; sp < 17; sp++)
			for (unsigned fp = 0; fp < 17; fp++)
				walk_from(garbage_pc(pc), garbage_address(sp), garbage_address(fp));
	assert_true(walks > 100);
}

static int walk_from_each_page(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = UINT64_MAX, end = 0;

	(void)size;
	(void)context;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + p->p_memsz > end ? at + p->p_memsz : end;
	}
	for (uint64_t at = (start + page) & ~(page - 1); at < end; at += page)
		for (uint64_t pc = at - 4; pc < at + 4; pc += 2)
			walk_from(pc, (uint64_t)(uintptr_t)region + 4096, 0);
	walk_from(end - 1, (uint64_t)(uintptr_t)region + 4096, 0);
	return 0;
}

static void no_address_in_a_loaded_object_faults_when_taken_for_code(void **state)
{
	(void)state;
	begin_garbage();
	walked_forget_stack();
	(void)dl_iterate_phdr(walk_from_each_page, NULL);
	assert_true(walks > 100);
}

/* Frame records of generated code, from `first` on, each `step` bytes above the last. */
static void write_records(char *first, size_t step, unsigned count, uint64_t outermost)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t record[2] = {(uint64_t)(uintptr_t)(first + step),
				      (uint64_t)(uintptr_t)region + 16}; /* in no object */

		if (i + 1 == count)
			record[1] = outermost;
		memcpy(first, record, sizeof(record));
		first += step;
	}
}

/* A coroutine's stack goes away, and a smaller one comes to lie where its inner part was. */
static void a_stack_that_has_become_shorter_is_not_read_beyond_its_end(void **state)
{
	char *first;
	uint64_t pc, outermost;

	(void)state;
	begin_garbage();
	walked_take_here();
	outermost = walked.frames[walked.count - 1].pc; /* where the program began */
	first = region + REGION_BYTES / 2 - 2 * 4096;
	pc = (uint64_t)(uintptr_t)region + 32;
	write_records(first, 4096, 7, outermost);
	walk_from(pc, (uint64_t)(uintptr_t)first, (uint64_t)(uintptr_t)first);
	write_records(first, 4096, 2, outermost);
	assert_int_equal(mprotect(region + REGION_BYTES / 2, REGION_BYTES / 2, PROT_NONE), 0);
	walk_from(pc, (uint64_t)(uintptr_t)first, (uint64_t)(uintptr_t)first);
	assert_int_equal(walks, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_handler_is_walked_through_to_the_interrupted_code),
		cmocka_unit_test(so_is_one_that_gets_the_context_of_the_signal),
		cmocka_unit_test(so_is_one_on_a_stack_of_its_own),
		cmocka_unit_test(so_are_handlers_in_handlers),
		cmocka_unit_test(a_leaf_function_that_faults_is_walked_through),
		cmocka_unit_test(coroutines_have_their_own_stacks),
		cmocka_unit_test(coroutines_are_walked_on_stacks_of_which_nothing_is_known),
		cmocka_unit_test(where_a_coroutine_began_its_stack_is_complete_and_not_cut),
		cmocka_unit_test(a_frame_that_needs_another_register_is_walked_through),
		cmocka_unit_test(generated_code_with_frame_records_is_walked_through),
		cmocka_unit_test_teardown(
			on_a_stack_of_which_nothing_is_known_garbage_does_not_fault, end_garbage),
		cmocka_unit_test_teardown(
			on_a_coroutines_stack_a_garbage_frame_pointer_does_not_fault, end_garbage),
		cmocka_unit_test_teardown(no_address_in_a_loaded_object_faults_when_taken_for_code,
					  end_garbage),
		cmocka_unit_test_teardown(
			a_stack_that_has_become_shorter_is_not_read_beyond_its_end, end_garbage),
		cmocka_unit_test_teardown(a_garbage_stack_pointer_does_not_fault, end_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
