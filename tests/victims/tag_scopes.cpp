/* tag_scopes.cpp -- C++ scopes of tags, one of which an exception leaves. Run by tests/e2e/tags.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap in tags: Parser::run 1,000 bytes; outer/thrower 2,000, left by an exception; outer 3,000
 * after it; a thread that works for outer: outer/task 4,000. Arrays of char by new, all deleted. */
#include <string>
#include <thread>

#include "midden/midden.hpp"

static char *volatile block;

static void take(std::size_t bytes)
{
	block = new char[bytes];
	delete[] block;
}

struct Parser {
	void run()
	{
		midden::tag scope("Parser", "run");
		take(1000);
	}
};

static void throw_inside()
{
	midden::tag scope(std::string("thrower"));
	take(2000);
	throw 1;
}

int main()
{
	Parser().run();
	midden::tag scope("outer");
	try {
		throw_inside();
	} catch (int) {
	}
	take(3000);
	midden::tag_context here;
	std::thread worker([&here] {
		midden::adopted_tag as(here);
		midden::tag task("task");
		take(4000);
	});
	worker.join();
	return 0;
}
