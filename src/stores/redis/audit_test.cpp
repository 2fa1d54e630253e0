// A server that stands still, connections that are cut, a network that is silent. After each has healed, and with all clients
// alive, every record belongs to a claim that some client admits to. failovers_test.cpp asks the same of sentinels and clusters.
//
// make storms (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/records.hpp"
#include "stores/redis/servers/suite.hpp"
#include "support/crowd.hpp"
#include "support/silence.hpp"

#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

namespace mortise::inline v0::stores::redis {
namespace {

using namespace std::chrono_literals;
using testing::audit;
using testing::audit_verdict;
using testing::crowd;
using testing::tcp_proxy;
using testing::way;

class redis_audit : public servers::on_one_server {
protected:
    static constexpr std::chrono::seconds lease = 2s;
    static int times(int usual) { return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 20 : usual; }

    auto stored() const {
        return [this] { return servers::records_of({&node()}, prefix_); };
    }
    crowd::plan contention(const std::string& url) const {
        return {.urls = std::vector<std::string>(4, url), .lease = lease, .names = 12, .callers = 4, .stay = 10ms};
    }
    void expect_nothing_left(const char* what, const crowd& some) const {
        expect_nothing_left(what, some.granted() + some.refused(),
                            audit(lease + 2s, stored(), [&] { return some.admitted(); }));
    }
    static void expect_nothing_left(const char* what, std::size_t claims, const audit_verdict& found) {
        std::cout << what << ": claims=" << claims << " orphans=" << found.orphans.size()
                  << " idle=" << found.idle.size() << "\n";
        EXPECT_TRUE(found.innocent()) << what << ": " << found.describe();
    }
};

TEST_F(redis_audit, of_a_crowd_while_the_server_stands_still) {
    crowd some{contention(url(node().port(), "&timeout=500ms"))};
    for (int round = 0; round < times(1) && !HasFailure(); ++round) {
        std::this_thread::sleep_for(300ms);
        node().freeze();
        std::this_thread::sleep_for(1500ms);
        node().thaw();
        expect_nothing_left("server stopped in a crowd", some);
    }
    some.rest();
    expect_nothing_left("after the crowd", some);
}

TEST_F(redis_audit, of_a_crowd_whose_connections_are_cut_anywhere) {
    tcp_proxy network{node().port()};
    crowd some{contention(url(network.port(), "&timeout=500ms"))};
    std::minstd_rand dice{1};
    for (int round = 0; round < times(1) && !HasFailure(); ++round) {
        for (int n = 0; n < 10; ++n) {
            std::this_thread::sleep_for(100ms);
            network.cut_after(n % 2 == 0 ? way::to_client : way::to_server, dice() % 1000);
        }
        std::this_thread::sleep_for(100ms);
        network.cut();
        expect_nothing_left("connections cut in a crowd", some);
    }
    some.rest();
    expect_nothing_left("after the crowd", some);
}

TEST_F(redis_audit, of_releases_while_the_server_is_silent) {
    for (int round = 0; round < times(1) && !HasFailure(); ++round)
        for (const std::chrono::milliseconds silence : {500ms, 2200ms}) {
            tcp_proxy network{node().port()};
            expect_nothing_left("silent server", 15,
                                testing::leave_in_silence({.way_there = network,
                                                           .through = url(network.port(), "&timeout=500ms"),
                                                           .past = url(),
                                                           .stored = stored(),
                                                           .lease = lease,
                                                           .silence = silence,
                                                           .bound = lease + 2s}));
        }
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
