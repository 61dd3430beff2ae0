/* compiled.cpp -- food for the compilers that are measured; never run. -DSIZE=N (up to 200): how
 * many sets of containers are instantiated. Compiled by bench/run.py.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct key {
	int value;
	bool operator<(const key &other) const
	{
		return value + N < other.value;
	}
	bool operator==(const key &other) const
	{
		return value == other.value;
	}
};

template <int N> struct hash_of_key {
	size_t operator()(const key<N> &k) const
	{
		return static_cast<size_t>(k.value * (2 * N + 1));
	}
};

template <int N> struct worker {
	std::map<key<N>, std::string> names;
	std::unordered_map<key<N>, std::vector<key<N>>, hash_of_key<N>> groups;

	int run(const std::vector<key<N>> &keys)
	{
		std::vector<key<N>> sorted(keys);

		std::sort(sorted.begin(), sorted.end());
		for (const auto &k : sorted) {
			std::ostringstream out;

			out << N << ':' << k.value;
			names.emplace(k, out.str());
			groups[key<N>{k.value % 16}].push_back(k);
		}
		return std::accumulate(sorted.begin(), sorted.end(), 0,
				       [this](int sum, const key<N> &k) {
					       return sum + static_cast<int>(names[k].size());
				       });
	}
};

template <int N> int run_all(int seed)
{
	worker<N> w;

	return w.run({{seed}, {seed + 1}}) + run_all<N - 1>(seed);
}

template <> int run_all<0>(int seed)
{
	return seed;
}

int run_compiled(int seed)
{
	return run_all<SIZE>(seed);
}
