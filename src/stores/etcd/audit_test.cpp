// Faults that leave claims behind which nobody knows: a member that stands still, an endpoint that falls silent. After each
// of them has healed, and with all clients alive, every key belongs to a claim that some client admits to.
//
// make storms (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/history/audit.hpp"

#include "checker/faults/tcp_proxy.hpp"
#include "stores/etcd/fixture.hpp"
#include "stores/etcd/servers/suite.hpp"
#include "support/crowd.hpp"
#include "support/silence.hpp"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using testing::audit;
using testing::audit_verdict;
using testing::crowd;
using testing::eventually;
using testing::tcp_proxy;
using testing::way;

int rounds_of_faults(int usual) {
    return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 20 : usual;
}

void expect_nothing_left(const char* what, std::size_t claims, const audit_verdict& found) {
    std::cout << what << ": claims=" << claims << " orphans=" << found.orphans.size() << " idle=" << found.idle.size()
              << "\n";
    EXPECT_TRUE(found.innocent()) << what << ": " << found.describe();
}

class etcd_audit : public servers::on_members<3> {
protected:
    auto stored() const {
        return [this] { return records_at(url({}, all().member(all().leader()).address())); };
    }
    audit_verdict audited(std::chrono::nanoseconds lease, const std::vector<const client*>& clients) const {
        return audit(lease + 2s, stored(), [&] { return testing::admitted_by(clients); });
    }
    // Its address comes first, so it is the one that new clients ask.
    std::string url_led_by(std::size_t member) const {
        std::string hosts = all().member(member).address();
        for (std::size_t i = 0; i < all().size(); ++i)
            if (i != member) hosts += "," + all().member(i).address();
        return url({}, hosts);
    }
};

// What was asked of the member that stands still is asked again of another one, and answered there. When the member goes on,
// the first request must do no harm, whatever the answer to the second was.
TEST_F(etcd_audit, of_tries_that_are_answered_while_a_follower_stands_still) {
    constexpr std::size_t names = 48;
    constexpr std::chrono::seconds lease = 2s;
    for (int round = 0; round < rounds_of_faults(1) && !HasFailure(); ++round) {
        const std::size_t follower = (all().leader() + 1) % all().size();
        std::atomic<std::size_t> answered{0};
        client holder{url({}, all().member(all().leader()).address())};
        client caller{url_led_by(follower)};
        const auto name = [&](std::size_t i) { return std::to_string(round) + " " + std::to_string(i); };
        std::vector<hold> held;
        for (std::size_t i = 0; i < names; ++i) held.push_back(holder.acquire(name(i), {.lease = lease}));
        caller.acquire("warm", {.lease = lease}).release();

        all().member(follower).freeze();
        const auto frozen_at = boot_clock::now();
        for (std::size_t i = 0; i < names; ++i)
            caller.start({.name = name(i), .options = {.wait = 0s, .lease = lease}},
                         [&](const attempt&) { ++answered; });
        EXPECT_TRUE(eventually([&] { return answered == names; }));
        held.clear();
        std::this_thread::sleep_until(std::chrono::steady_clock::now() + (frozen_at + 2500ms - boot_clock::now()));
        all().member(follower).thaw();
        expect_nothing_left("follower stopped while clients try", names, audited(lease, {&holder, &caller}));
    }
}

TEST_F(etcd_audit, of_a_crowd_while_a_follower_stands_still) {
    constexpr std::chrono::seconds lease = 2s;
    const std::size_t follower = (all().leader() + 1) % all().size();
    crowd some{{.urls = std::vector<std::string>(5, url_led_by(follower)),
                .lease = lease,
                .names = 48,
                .callers = 8,
                .stay = 50ms,
                .short_wait = 100ms}};
    const auto audited = [&] { return audit(lease + 2s, stored(), [&] { return some.admitted(); }); };
    for (int round = 0; round < rounds_of_faults(1) && !HasFailure(); ++round) {
        std::this_thread::sleep_for(300ms);
        all().member(follower).freeze();
        std::this_thread::sleep_for(2500ms);
        all().member(follower).thaw();
        expect_nothing_left("follower stopped in a crowd", some.granted() + some.refused(), audited());
    }
    some.rest();
    expect_nothing_left("after the crowd", some.granted() + some.refused(), audited());
}

// Releases and ends of waits get nowhere for longer than the lease of their claims. But that is rounded up, shared, and kept
// alive when the endpoint is heard again: what was released must not come back with it.
TEST_F(etcd_audit, of_releases_while_the_only_endpoint_is_silent_for_longer_than_a_lease) {
    for (int round = 0; round < rounds_of_faults(1) && !HasFailure(); ++round)
        for (const std::chrono::milliseconds lease : {1200ms, 1900ms}) {
            tcp_proxy proxy{all().member(all().leader()).port()};
            expect_nothing_left("silent endpoint", 15,
                                testing::leave_in_silence({.way_there = proxy,
                                                           .through = url_at(proxy.port(), "&timeout=500ms"),
                                                           .past = url(),
                                                           .stored = stored(),
                                                           .lease = lease,
                                                           .silence = lease + 50ms,
                                                           .bound = lease + 2s}));
        }
}

class etcd_audit_alone : public servers::on_members<1> {
protected:
    static constexpr std::chrono::seconds lease = 2s;

    crowd::plan contention(const std::string& url) const {
        return {.urls = std::vector<std::string>(4, url), .lease = lease, .names = 12, .callers = 4, .stay = 10ms};
    }
    void expect_nothing_left_of(const char* what, const crowd& some) const {
        expect_nothing_left(what, some.granted() + some.refused(),
                            audit(
                                lease + 2s, [this] { return records_at(url()); }, [&] { return some.admitted(); }));
    }
};

TEST_F(etcd_audit_alone, of_a_crowd_while_the_member_stands_still) {
    crowd some{contention(url("&timeout=500ms"))};
    for (int round = 0; round < rounds_of_faults(1) && !HasFailure(); ++round) {
        std::this_thread::sleep_for(300ms);
        all().member(0).freeze();
        std::this_thread::sleep_for(1500ms);
        all().member(0).thaw();
        expect_nothing_left_of("member stopped in a crowd", some);
    }
    some.rest();
    expect_nothing_left_of("after the crowd", some);
}

TEST_F(etcd_audit_alone, of_a_crowd_whose_connections_are_cut_anywhere) {
    tcp_proxy network{all().member(0).port()};
    crowd some{contention(url_at(network.port(), "&timeout=500ms"))};
    std::minstd_rand dice{1};
    for (int round = 0; round < rounds_of_faults(1) && !HasFailure(); ++round) {
        for (int n = 0; n < 10; ++n) {
            std::this_thread::sleep_for(100ms);
            network.cut_after(n % 2 == 0 ? way::to_client : way::to_server, dice() % 1000);
        }
        std::this_thread::sleep_for(100ms);
        network.cut();
        expect_nothing_left_of("connections cut in a crowd", some);
    }
    some.rest();
    expect_nothing_left_of("after the crowd", some);
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
