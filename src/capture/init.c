/* init.c -- the library's constructor. Runs: once, before any other constructor (-z initfirst).
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "capture/boot.h"
#include "capture/cold.h"
#include "capture/deepbind.h"
#include "capture/environment.h"
#include "capture/family.h"
#include "capture/homing.h"
#include "capture/light.h"
#include "capture/link.h"
#include "capture/mapping.h"
#include "capture/marks.h"
#include "capture/orders.h"
#include "capture/ring.h"
#include "capture/sanitizer.h"
#include "capture/shadow.h"
#include "capture/stackrange.h"
#include "capture/thread.h"
#include "capture/walk_full.h"

#define FAREWELL_MS 60000u /* a heap of 5 million blocks takes two seconds */

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

#define LEAKS_MS 120000 /* a big heap takes seconds */

/* The linker's: where this library's variables end. */
extern char _end[] HIDDEN;

/* NOLINTNEXTLINE(readability-redundant-declaration): weak, because musl has none */
extern int on_exit(void (*function)(int, void *), void *argument) __attribute__((weak));

/* An executable that defines malloc itself (a static jemalloc, say) comes before us in symbol
 * order. */
static void check_interposition(void)
{
	void *found = dlsym(RTLD_DEFAULT, "malloc");

	if (!found || found == (void *)(uintptr_t)malloc) /* NOLINT */
		return;
	/* Or it merely takes its address (a canonical linkage table entry): the collector tells
	 * by whether anything was recorded. */
	atomic_store(&process->header->foreign_allocator, 1);
}

static const char *own_name(void)
{
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)own_name, &self) || !self.dli_fname) /* NOLINT */
		return "libmidden.so";
	const char *slash = strrchr(self.dli_fname, '/');
	return slash ? slash + 1 : self.dli_fname;
}

/* Where exit is. */
static struct modules_area libc;

/* The program's part of the stack, without the frames of exit() that lie over those which it has
 * left, and the registers that it has there. */
_Static_assert(ARCH_REGS <= SEGMENT_REGISTERS, "there is room for all of them");
static uint64_t find_stack(uint64_t regs[ARCH_REGS])
{
	struct thread *t = hot_enter();
	uint64_t found = 0;

	if (t) {
		found = walk_full_leave(t, &libc, regs);
		hot_leave(t);
	}
	return found;
}

/* As of now: what the program's own handlers and destructors have freed is no longer there. Those
 * who protect processes from one another must be told whom we allow to look. */
static void ask_for_lost(struct segment_header *header)
{
	uint64_t regs[SEGMENT_REGISTERS] = {0};
	uint64_t stack = find_stack(regs);
	uint64_t question = orders_get_question();
	const uint64_t words[3] = {question, stack, (uint64_t)(uintptr_t)regs};

	__asm__ volatile("" : : "r"(regs) : "memory"); /* somebody reads them */
	(void)HOST_CALL5(SYS_prctl, PR_SET_PTRACER, header->collector_pid, 0, 0, 0);
	if (question && orders_put(SEGMENT_EVENT_ORDER, SEGMENT_ORDER_LEAKS, words))
		(void)orders_await(question, LEAKS_MS, NULL);
	(void)HOST_CALL5(SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0);
}

/* A look at the program's pages has to come before they go. A collector that does not answer is not
 * waited for in vain: it is seen to be gone. */
static void say_farewell(void)
{
	uint64_t question = orders_get_question();
	const uint64_t words[3] = {question};

	if (orders_put(SEGMENT_EVENT_ORDER, SEGMENT_ORDER_FAREWELL, words))
		(void)orders_await(question, FAREWELL_MS, NULL);
}

/* As the collector wanted it when we began: a program that writes over its segment is not to wait
 * at its end for what nobody asked for. */
static bool wants_lost;
static bool wants_look;

/* Registered first, so called last. Whoever is not our parent can learn the status in no other
 * way. */
static void note_exit(int status, void *header)
{
	if (!process || process->header != header)
		return;
	light_end_all();
	shadow_tell_last(thread_self);
	if (wants_look)
		orders_await_look(true);
	if (wants_lost)
		ask_for_lost(process->header);
	if (process->header->farewell)
		say_farewell();
	atomic_store(&process->header->exit_status, SEGMENT_EXITED | ((uint32_t)status & 0xff));
	ring_wake_collector(process->header);
	if (process->pid == 1 && !link_has_recorder())
		link_wait_for_collector(process->header);
}

/* glibc's own constructor has not run yet, so the environment is the one that we are given. musl
 * gives its constructors nothing, but knows the environment by now. */
static __attribute__((constructor)) void init(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	char **environment = environ ? environ : envp;
	environment_init(environment);
	if (sanitizer_is_inside())
		cold_stay_off("the program has a sanitizer's malloc built in: not recording");
	else
		cold_start();
	if (!process || atomic_load(&process->state) != PROCESS_RECORDING)
		return;
	/* Attaches the thread while any system call is allowed: a filter may come in main. */
	if (thread_self->state == THREAD_NEW)
		(void)cold_attach();
	check_interposition();
	process->header->real_malloc = (uint64_t)(uintptr_t)real.malloc;
	process->header->own_end = (uint64_t)(uintptr_t)_end;
	process->header->comeback = homing_get();
	marks_take_signal((int)process->header->snapshot_signal);
	atomic_store(&process->header->reads_denied, stackrange_is_denied());
	family_patch();
	deepbind_patch();
	if (process->header->maps)
		mapping_patch();
	if (process->header->enter_exit)
		shadow_patch();
	wants_lost = process->header->leaks != 0;
	if (wants_lost && on_exit)
		libc = modules_find_area((uint64_t)(uintptr_t)on_exit);
	wants_look = process->header->looks != 0;
	thread_look_at_ends(process->header->looks > 1);
	if (on_exit)
		(void)on_exit(note_exit, process->header);
	if (!process->header->follow)
		environment_clean(environment, own_name());
}
