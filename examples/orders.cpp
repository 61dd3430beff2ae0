/* orders.cpp -- a service that takes orders, keeps an index of the latest and never ends a session:
 * a heap with a steady part, waves and a leak. Runs: as the program in the viewer's pictures.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	g++ -g -O1 -pthread orders.cpp -o orders
 *	midden record ./orders && midden view */
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Order {
	int id;
	std::string item;
	std::vector<std::string> notes;
};

struct Session {
	std::string user;
	std::vector<char> buffer;
};

class Sessions {
public:
	void open(int id)
	{
		auto session = std::make_unique<Session>();
		session->user = "customer number " + std::to_string(id) + " of the day";
		session->buffer.resize(512 + id % 1024);
		const std::lock_guard<std::mutex> lock(mutex_);
		open_.push_back(session.release()); // nobody ever closes it
	}

private:
	std::mutex mutex_;
	std::vector<Session *> open_;
};

class Index {
public:
	void add(Order order)
	{
		auto &same = by_item_[order.item];
		same.push_back(std::make_unique<Order>(std::move(order)));
	}

	void forget_all() { by_item_.clear(); }

private:
	std::map<std::string, std::vector<std::unique_ptr<Order>>> by_item_;
};

static Order parse_order(int id)
{
	Order order{id, "item " + std::to_string(id * 7919 % 1000) + " of the catalogue", {}};
	for (int i = 0; i < id % 5; i++)
		order.notes.push_back("a note that is not a short string " + std::to_string(i));
	return order;
}

static std::string render(const Order &order)
{
	std::string page;
	for (const auto &note : order.notes)
		page += "<li>" + note + "</li>";
	return "<h1>" + order.item + "</h1><ul>" + page + "</ul>";
}

static std::vector<double> load_prices()
{
	std::vector<double> prices;
	for (int i = 0; i < 200000; i++)
		prices.push_back(i * 0.25);
	return prices;
}

static void serve(Sessions &sessions, const std::vector<double> &prices, int orders)
{
	Index index;
	size_t bytes = 0;
	double turnover = 0;
	for (int i = 0; i < orders; i++) {
		Order order = parse_order(i);
		bytes += render(order).size();
		turnover += prices[static_cast<size_t>(i) % prices.size()];
		index.add(std::move(order));
		if (i % 16 == 0)
			sessions.open(i);
		if (i % 12000 == 11999)
			index.forget_all();
		if (i % 50 == 0)
			std::this_thread::sleep_for(std::chrono::microseconds(500));
	}
	std::printf("%zu bytes served, turnover %.2f\n", bytes, turnover);
}

int main()
{
	Sessions sessions;
	const std::vector<double> prices = load_prices();
	std::thread second([&] { serve(sessions, prices, 30000); });
	serve(sessions, prices, 60000);
	second.join();
}
