/* sanitizer.c -- programs that have a sanitizer's malloc built in.
 * Runs: in the library's constructor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/sanitizer.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Each runtime exports one of these. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

bool sanitizer_is_inside(void)
{
	if (!__asan_init && !__hwasan_init && !__lsan_init && !__msan_init && !__tsan_init)
		return false;
	/* As a library it comes behind us, and is the allocator that serves. */
	void *found = dlsym(RTLD_DEFAULT, "malloc");

	return found && found != (void *)(uintptr_t)malloc; /* NOLINT: a data pointer to compare */
}
