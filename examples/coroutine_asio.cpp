// Ten thousand customers, each a coroutine of Boost.Asio, one thread, one lock. Half of them lose patience and go away.
#include <mortise/asio.hpp>
#include <mortise/mortise.hpp>

#include <deque>
#include <iostream>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

namespace asio = boost::asio;

struct shop {
    mortise::client locks{"memory:"};
    int stock = 3'000;
    int sold = 0;
    int too_late = 0;
    int left = 0;
};

asio::awaitable<void> buy(shop& here) {
    mortise::hold ticket;
    try {
        ticket = co_await mortise::async_acquire(here.locks, "ticket", asio::use_awaitable);
    } catch (const mortise::error& e) {
        if (e.code() == mortise::errc::cancelled) ++here.left;
        co_return;
    }
    if (here.stock > 0) {
        --here.stock;  // alone: we hold the lock
        ++here.sold;
    } else {
        ++here.too_late;
    }
    co_await mortise::async_release(std::move(ticket), asio::use_awaitable);
}

}  // namespace

int main() {
    constexpr int customers = 10'000;
    asio::io_context io;
    shop here;
    mortise::hold closed = here.locks.acquire("ticket");  // the shop opens when everybody stands in line
    std::deque<asio::cancellation_signal> doubts;
    for (int n = 0; n < customers; ++n)
        asio::co_spawn(io, buy(here), asio::bind_cancellation_slot(doubts.emplace_back().slot(), asio::detached));
    io.poll();
    std::cout << "in line: " << customers << ", sold: " << here.sold << '\n';
    for (int n = 0; n < customers; n += 2) doubts[n].emit(asio::cancellation_type::terminal);
    io.poll();  // each hears of it on its executor
    closed.release();
    io.run();
    std::cout << "left: " << here.left << ", sold: " << here.sold << ", too late: " << here.too_late << '\n';
}
