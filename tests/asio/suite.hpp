// Two clients of one store and an io_context: what the tests of this folder have in common.
#pragma once

#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/asio.hpp>
#include <mortise/mortise.hpp>

#include <exception>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

namespace mortise::testing {

namespace net = boost::asio;
using namespace std::chrono_literals;

// Until there is nothing left to do. What hangs is a failure, not a hang.
inline void run(net::io_context& io) {
    io.restart();
    io.run_for(plenty);
    EXPECT_TRUE(io.stopped()) << "somebody still waits";
}

// One coroutine, to its end.
template <class Body>
void go(net::io_context& io, Body body) {
    net::co_spawn(io, body, [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
    });
    run(io);
}

class asio_suite : public store_suite {
protected:
    // Nobody holds, and so nobody waits: a name with a waiter has a holder.
    bool empty() { return others_.list().empty(); }

    client locks_ = make_client();
    client others_ = make_client();
    net::io_context io_;
};

}  // namespace mortise::testing
