/* early.cpp -- allocations before main, after it, and inside the loader.
 * Runs: under midden, by tests/e2e/stacks. argv[1]: a library to load and unload.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <cstdlib>
#include <dlfcn.h>
#include <thread>

extern "C" void early_function();
extern "C" int early_chosen();

namespace
{

struct both_ends {
	both_ends()
	{
		oracle_mark();
	}
	~both_ends()
	{
		oracle_mark();
	}
};

both_ends global;
thread_local both_ends of_thread;

void at_exit()
{
	static both_ends local;

	oracle_mark();
}

__attribute__((constructor(101))) void very_early()
{
	oracle_mark();
}

void work()
{
	both_ends *volatile here = &of_thread;

	(void)here;
	oracle_mark();
}

void load(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY);
	auto *function =
		handle ? reinterpret_cast<void (*)()>(dlsym(handle, "early_function")) : nullptr;

	if (!function)
		std::exit(1);
	function();
	dlclose(handle);
	oracle_mark();
}

} // namespace

int main(int argc, char **argv)
{
	std::atexit(at_exit);
	early_function();
#ifndef __aarch64__ /* libgcc's unwinder goes astray in the loader's stub there */
	if (early_chosen() != 42)
		return 1;
#endif
	if (argc != 2)
		return 1;
	for (int i = 0; i < 10; i++)
		load(argv[1]);
	std::thread(work).join();
	work();
	return 0;
}
