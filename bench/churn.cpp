/* churn.cpp -- what C++ programs do to the heap: containers, strings, shared objects, streams,
 * closures and exceptions. churn ROUNDS; run by bench/run.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints `own-cpu-ns`, the CPU time that this process has used. A round makes about 270 blocks,
 * gives almost all of them back, and throws two exceptions. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

uint64_t read_own_cpu_ns()
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

/* ---- a small document: parsed into a tree, printed, walked ----------------------------------- */

struct node;
using node_ptr = std::shared_ptr<node>;

struct node {
	std::string name;
	std::vector<node_ptr> children;
	std::map<std::string, std::string> attributes;
};

class malformed : public std::runtime_error
{
      public:
	using std::runtime_error::runtime_error;
};

node_ptr parse(const std::string &text, size_t &at)
{
	auto made = std::make_shared<node>();

	while (at < text.size() && text[at] != '(' && text[at] != ')')
		made->name += text[at++];
	if (made->name == "bad")
		throw malformed("a bad node at byte " + std::to_string(at) + " of the document");
	made->attributes["length of the name"] = std::to_string(made->name.size());
	while (at < text.size() && text[at] == '(') {
		made->children.push_back(parse(text, ++at));
		at++;
	}
	return made;
}

size_t visit(const node_ptr &n, const std::function<size_t(const node &)> &action)
{
	size_t sum = action(*n);

	for (const auto &child : n->children)
		sum += visit(child, action);
	return sum;
}

std::string write_document(uint64_t seed, bool good)
{
	std::ostringstream out;

	out << "document number " << seed;
	for (unsigned i = 0; i < 8; i++)
		out << "(section " << (seed >> i & 15) << "(paragraph with some text)(note))";
	out << (good ? "(end)" : "(deep(deeper(deepest(bad))))");
	return out.str();
}

/* Throws through as many frames as the document is deep, catches halfway, throws on. */
size_t read_document(const std::string &text)
{
	try {
		size_t at = 0;
		std::string prefix = "a prefix that is too long for the short form";
		auto root = parse(text, at);

		return visit(root, [prefix](const node &n) {
			return n.name.size() + n.attributes.size() + prefix.size();
		});
	} catch (const malformed &e) {
		throw std::invalid_argument(std::string("cannot read: ") + e.what());
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

class index_of_words
{
	std::unordered_map<std::string, std::list<uint64_t>> places;
	std::deque<std::string> recent;

      public:
	void add(const std::string &word, uint64_t place)
	{
		auto &list = places[word];

		list.push_back(place);
		if (list.size() > 8)
			list.pop_front();
		recent.push_back(word);
		if (recent.size() > 200) {
			places.erase(recent.front());
			recent.pop_front();
		}
	}
};

size_t run_round(index_of_words &index, uint64_t number)
{
	size_t sum = read_document(write_document(number, true));

	for (unsigned i = 0; i < 8; i++)
		index.add("a word of the document " + std::to_string((number * 7 + i) % 1000), i);
	try {
		sum += read_document(write_document(number, false));
	} catch (const std::exception &e) {
		sum += std::string(e.what()).size();
	}
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], nullptr, 10) : 10000;
	index_of_words index;
	size_t sum = 0;

	for (uint64_t i = 0; i < rounds; i++)
		sum += run_round(index, i);
	printf("own-cpu-ns %llu\n", static_cast<unsigned long long>(read_own_cpu_ns()));
	return sum == 0;
}
