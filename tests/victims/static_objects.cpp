/* static_objects.cpp -- allocations before main and after it. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full` (VICTIM_MODE, because constructors run before main): a static object takes
 * 10,000 bytes in its constructor and gives them back in its destructor; a constructor function
 * takes 300 bytes for good; a thread takes 700 and 800 bytes (the peak: 11,800 bytes in 4 blocks),
 * which its thread_local object and a pthread key's destructor free as the thread ends, each making
 * and freeing 90 bytes and leaving 33; the main thread's thread_local does the same with 600 bytes;
 * two atexit handlers and a destructor function allocate 50 bytes each after main, one of which is
 * freed. Mode `bare` starts the same thread and registers the same destructors but allocates
 * nothing. */
#include <pthread.h>

#include "truth.h"

namespace
{

/* Static constructors run before main sees its arguments: the mode comes from the environment. */
bool is_full()
{
	const char *mode = getenv("VICTIM_MODE");

	return mode && strcmp(mode, "full") == 0;
}

struct static_holder {
	void *block = is_full() ? truth_malloc(10000) : nullptr;
	~static_holder()
	{
		truth_free(block, 10000);
	}
};

struct thread_holder {
	void *block = nullptr;
	std::size_t size = 0;
	~thread_holder()
	{
		if (!block)
			return;
		truth_free(block, size);
		truth_free(truth_malloc(90), 90);
		truth_malloc(33);
	}
};

static_holder at_start;
thread_local thread_holder of_thread;
pthread_key_t key;

void key_destructor(void *block)
{
	truth_free(block, 800);
	truth_free(truth_malloc(90), 90);
	truth_malloc(33);
}

void *thread_body(void *)
{
	of_thread.size = 700; /* libc allocates to register the destructor, in both modes */
	truth_use(1);
	if (!is_full())
		return nullptr;
	of_thread.block = truth_malloc(700);
	pthread_setspecific(key, truth_malloc(800));
	truth_mark_peak(); /* the main thread waits */
	return nullptr;
}

void after_main_kept()
{
	truth_malloc(50);
}

void after_main_freed()
{
	truth_free(truth_malloc(50), 50);
}

__attribute__((constructor)) void before_main()
{
	if (is_full())
		truth_malloc(300);
}

__attribute__((destructor)) void at_the_end()
{
	if (is_full())
		truth_malloc(50);
}

} // namespace

int main()
{
	pthread_t thread;

	truth_use(1);
	truth_use(0);
	truth_expect(pthread_key_create(&key, key_destructor) == 0);
	truth_expect(pthread_create(&thread, nullptr, thread_body, nullptr) == 0);
	truth_expect(pthread_join(thread, nullptr) == 0);
	of_thread.size = 600;
	if (is_full()) {
		truth_expect(atexit(after_main_kept) == 0);
		truth_expect(atexit(after_main_freed) == 0);
		of_thread.block = truth_malloc(600);
	}
	return 0;
}
