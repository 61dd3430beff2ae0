/* host.h -- every system call the capture room makes, without libc and without errno.
 * Runs: anywhere in the target, also inside malloc and in signal handlers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_HOST_H
#define MIDDEN_CAPTURE_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include "capture/arch/x86_64.h"
#elif defined(__aarch64__)
#include "capture/arch/aarch64.h"
#else
#error "midden knows x86_64 and aarch64"
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NOINLINE    __attribute__((noinline))

/* On the declaration of what the hot path reads: it lies in this library, so that no look at the
 * global offset table is needed to find it. */
#define HIDDEN __attribute__((visibility("hidden")))

/* As in <linux/futex.h>: kernel headers are not everywhere beside libc's (musl-gcc). */
#define HOST_FUTEX_WAIT 0
#define HOST_FUTEX_WAKE 1

/* The kernel's answer: negative errno on failure. */
#define HOST_CALL0(n)	       arch_syscall((n), 0, 0, 0, 0, 0, 0)
#define HOST_CALL1(n, a)       arch_syscall((n), (long)(a), 0, 0, 0, 0, 0)
#define HOST_CALL2(n, a, b)    arch_syscall((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define HOST_CALL3(n, a, b, c) arch_syscall((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define HOST_CALL4(n, a, b, c, d) \
	arch_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define HOST_CALL5(n, a, b, c, d, e) \
	arch_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define HOST_CALL6(n, a, b, c, d, e, f) \
	arch_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline int host_getpid(void)
{
	return (int)HOST_CALL0(SYS_getpid);
}

static inline int host_gettid(void)
{
	return (int)HOST_CALL0(SYS_gettid);
}

static inline long host_close(int fd)
{
	return HOST_CALL1(SYS_close, fd);
}

/* Keeps all signals from the calling thread; what was kept before, for host_set_signals. For what a
 * handler must neither see half done nor jump out of. */
uint64_t host_block_signals(void);
void host_set_signals(uint64_t blocked);

/* Anonymous private memory, zeroed and untouched; NULL on failure. */
void *host_map(size_t bytes);

#endif
