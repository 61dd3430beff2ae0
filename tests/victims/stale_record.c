/* stale_record.c -- code without unwind information leaves a frame pointer that leads into a
 * library while another thread loads and unloads that library. Run by tests/e2e/harsh.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: stale_record PLUGIN TIMES
 * Heap: blocks of 24 bytes, made and freed by the second thread, the loader's own beside them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* malloc and free with `record` for a frame pointer, in a function that no table tells of. */
void allocate_bare(void *record);

#if defined(__x86_64__)
__asm__(".text\n"
	"allocate_bare:\n\t"
	"push %rbp\n\t"
	"mov %rdi, %rbp\n\t"
	"sub $512, %rsp\n\t"
	"mov $24, %edi\n\t"
	"call malloc@PLT\n\t"
	"mov %rax, %rdi\n\t"
	"call free@PLT\n\t"
	"add $512, %rsp\n\t"
	"pop %rbp\n\t"
	"ret\n");
#else
__asm__(".text\n"
	"allocate_bare:\n\t"
	"stp x29, x30, [sp, #-16]!\n\t"
	"mov x29, x0\n\t"
	"sub sp, sp, #512\n\t"
	"mov x0, #24\n\t"
	"bl malloc\n\t"
	"bl free\n\t"
	"add sp, sp, #512\n\t"
	"ldp x29, x30, [sp], #16\n\t"
	"ret\n");
#endif

static volatile uint64_t stale;
static volatile int ends;

static void *allocate(void *unused)
{
	while (!ends) {
		volatile uint64_t record[2] = {0, stale};

		record[0] = (uint64_t)(uintptr_t)(record + 64);
		allocate_bare((void *)(uintptr_t)record);
	}
	return unused;
}

/* Any address in the plugin that follows what may be a call. */
static uint64_t find_return(const uint8_t *code)
{
	for (unsigned i = 0; i < 400; i++) {
#if defined(__x86_64__)
		if (code[i] == 0xe8)
			return (uint64_t)(uintptr_t)(code + i + 5);
#else
		if (i % 4 == 0 && code[i + 3] >> 2 == 0x25)
			return (uint64_t)(uintptr_t)(code + i + 4);
#endif
	}
	return 0;
}

int main(int count, char **words)
{
	pthread_t thread;
	void *plugin = count > 2 ? dlopen(words[1], RTLD_NOW) : NULL;
	uint64_t address = plugin ? (uint64_t)(uintptr_t)dlsym(plugin, "plugin_make") : 0;

	stale = address ? find_return((const uint8_t *)(uintptr_t)address) : 0;
	if (!stale || dlclose(plugin) != 0 || pthread_create(&thread, NULL, allocate, NULL) != 0)
		return 1;
	for (int i = atoi(words[2]); i > 0; i--) {
		plugin = dlopen(words[1], RTLD_NOW);
		if (!plugin || dlclose(plugin) != 0)
			return 1;
	}
	ends = 1;
	return pthread_join(thread, NULL) != 0;
}
