// A stranger who waits with Boost.Asio.
#include <mortise/asio.hpp>

#include <cstdio>
#include <exception>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

int main() {
    boost::asio::io_context io;
    mortise::client locks{"memory:"};
    bool good = false;
    mortise::async_acquire(locks, "ticket",
                           boost::asio::bind_executor(io, [&](std::exception_ptr thrown, const mortise::hold& ticket) {
                               good = !thrown && ticket.valid();
                           }));
    io.run();
    std::puts(good ? "good" : "bad");
    return good ? 0 : 1;
}
