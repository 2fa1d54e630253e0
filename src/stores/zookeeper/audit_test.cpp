// A server that stands still, connections that are cut, a network that is silent. After each has healed, and with all clients
// alive, every node belongs to a claim that some client admits to. Leases are the session's, so that is the bound.
//
// make storms (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/zookeeper/fixture.hpp"
#include "stores/zookeeper/servers/suite.hpp"
#include "support/crowd.hpp"
#include "support/silence.hpp"

#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;
using testing::audit;
using testing::audit_verdict;
using testing::crowd;
using testing::tcp_proxy;
using testing::way;

class zookeeper_audit : public ::testing::Test {
protected:
    static void SetUpTestSuite() { zk_ = std::make_unique<ensemble>(3); }
    static void TearDownTestSuite() { zk_.reset(); }

    static constexpr std::chrono::seconds session = 5s;
    static int times(int usual) { return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 10 : usual; }

    static ensemble& all() { return *zk_; }
    server& follower() const {
        server* found = nullptr;
        EXPECT_TRUE(eventually([] { return all().leader() != nullptr; }, plenty));
        for (std::size_t i = 0; i < all().size(); ++i)
            if (&all()[i] != all().leader()) found = &all()[i];
        return *found;
    }
    std::string url(const std::string& hosts) const {
        return "zookeeper://" + hosts + root_ + "?session=" + std::to_string(session.count()) + "s";
    }
    std::string url_at(std::uint16_t port) const { return url("127.0.0.1:" + std::to_string(port)); }
    auto stored() const {
        return [this] { return records_at(url(all().leader()->address())); };
    }

    crowd::plan contention(const std::string& url) const {
        return {.urls = std::vector<std::string>(4, url),
                .lease = session,
                .names = 12,
                .callers = 4,
                .stay = 10ms,
                .short_wait = 100ms};
    }
    void expect_nothing_left(const char* what, const crowd& some) const {
        expect_nothing_left(what, some.granted() + some.refused(),
                            audit(session + 2s, stored(), [&] { return some.admitted(); }));
    }
    static void expect_nothing_left(const char* what, std::size_t claims, const audit_verdict& found) {
        std::cout << what << ": claims=" << claims << " orphans=" << found.orphans.size()
                  << " idle=" << found.idle.size() << "\n";
        EXPECT_TRUE(found.innocent()) << what << ": " << found.describe();
    }

private:
    static inline std::unique_ptr<ensemble> zk_;
    const std::string root_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(zookeeper_audit, of_a_crowd_while_a_follower_stands_still) {
    crowd some{contention(url(all().addresses()))};
    for (int round = 0; round < times(1) && !HasFailure(); ++round) {
        std::this_thread::sleep_for(500ms);
        server& frozen = follower();
        frozen.freeze();
        std::this_thread::sleep_for(2500ms);
        frozen.thaw();
        expect_nothing_left("follower stopped in a crowd", some);
    }
    some.rest();
    expect_nothing_left("after the crowd", some);
}

TEST_F(zookeeper_audit, of_a_crowd_whose_connections_are_cut_anywhere) {
    tcp_proxy network{follower().port()};
    crowd some{contention(url_at(network.port()))};
    std::minstd_rand dice{1};
    for (int round = 0; round < times(1) && !HasFailure(); ++round) {
        for (int n = 0; n < 6; ++n) {
            std::this_thread::sleep_for(200ms);
            network.cut_after(n % 2 == 0 ? way::to_client : way::to_server, dice() % 1000);
        }
        std::this_thread::sleep_for(200ms);
        network.cut();
        expect_nothing_left("connections cut in a crowd", some);
    }
    some.rest();
    expect_nothing_left("after the crowd", some);
}

TEST_F(zookeeper_audit, of_releases_while_the_only_server_is_silent) {
    for (int round = 0; round < times(1) && !HasFailure(); ++round) {
        tcp_proxy network{follower().port()};
        expect_nothing_left("silent server", 15,
                            testing::leave_in_silence({.way_there = network,
                                                       .through = url_at(network.port()),
                                                       .past = url(all().addresses()),
                                                       .stored = stored(),
                                                       .lease = 1s,
                                                       .silence = 2s,
                                                       .bound = session + 2s}));
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
