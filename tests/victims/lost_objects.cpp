/* lost_objects.cpp -- C++ objects that are held by pointers to their inside, and some that are
 * lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each function object_NAME leaves what it allocates. The program returns 5 from main. */
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define OBJECT __attribute__((noinline)) static

struct counted {
	counted() : value(1)
	{
	}
	~counted()
	{
		value = 0;
	}
	long value;
};

struct first {
	virtual ~first()
	{
	}
	long one = 1;
};
struct second {
	virtual ~second()
	{
	}
	long two = 2;
};
struct both : first, second {
	long three = 3;
};

static counted *array;
static second *base;
static std::vector<std::string> *words;
static std::map<int, std::string> *table;
static std::shared_ptr<both> *shared;

/* A static object: its destructor frees what it has before anybody looks. */
static std::vector<int> tidy;

OBJECT void object_array()
{
	array = new counted[10];
}
OBJECT void object_second_base()
{
	base = new both;
}

OBJECT void object_vector()
{
	words = new std::vector<std::string>;
	for (int i = 0; i < 10; i++)
		words->push_back(std::string(100, 'x'));
}

OBJECT void object_map()
{
	table = new std::map<int, std::string>;
	for (int i = 0; i < 20; i++)
		(*table)[i] = std::string(100, 'y');
}

OBJECT void object_shared()
{
	shared = new std::shared_ptr<both>(std::make_shared<both>());
}
OBJECT void object_tidy()
{
	tidy.resize(1000);
}

OBJECT void object_lost_vector()
{
	auto *lost = new std::vector<std::string>;

	for (int i = 0; i < 4; i++)
		lost->push_back(std::string(100, 'z'));
}

__attribute__((noinline)) static void scrub()
{
	volatile char room[65536];

	for (auto &byte : room)
		byte = 0;
}

int main()
{
	void (*const all[])() = {object_array,	object_second_base, object_vector,	object_map,
				 object_shared, object_tidy,	    object_lost_vector, scrub};

	for (auto make : all)
		make();
	scrub();
	return 5;
}
