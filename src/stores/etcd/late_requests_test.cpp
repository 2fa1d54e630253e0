// Requests that sit in a member, or on the way to it, until another has answered.
#include "support/late_requests.hpp"

#include "stores/etcd/servers/suite.hpp"
#include "support/sanitizers.hpp"

#include <mortise/error.hpp>

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::IsEmpty;
using testing::late_requests;

// Below, at and above the time of a request and the least lease, which are two seconds both.
template <std::size_t Members>
class etcd_late : public servers::on_members<Members> {
protected:
    late_requests matrix(std::size_t asked) const {
        late_requests all;
        for (std::size_t i = 0; i < asked; ++i) all.servers.push_back(this->all().member(i).port());
        all.url_at = [this](const std::vector<std::uint16_t>& ports) {
            std::string hosts;
            for (const std::uint16_t port : ports)
                hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
            return this->url({}, hosts);
        };
        all.leases = {1s, 2s, 5s};
        all.least_lease = 2s;
        all.every = testing::under_asan || testing::under_tsan ? 20 : 1;
        return all;
    }
};

using etcd_late_requests = etcd_late<1>;
using etcd_late_requests_to_three = etcd_late<3>;

TEST_F(etcd_late_requests, leave_nothing_behind) {
    EXPECT_THAT(matrix(1).run(), IsEmpty());
}

// Over before the lease is, which lives on.
TEST_F(etcd_late_requests, of_a_short_silence_leave_nothing_behind) {
    late_requests all = matrix(1);
    all.lasts = 500ms;
    all.connections_stand = true;
    EXPECT_THAT(all.run(), IsEmpty());
}

TEST_F(etcd_late_requests_to_three, to_one_of_them_leave_nothing_behind) {
    EXPECT_THAT(matrix(1).run(), IsEmpty());
}

TEST_F(etcd_late_requests_to_three, that_another_answered_leave_nothing_behind) {
    EXPECT_THAT(matrix(3).run(), IsEmpty());
}

// As it was first seen: a follower stands still while callers try, and what it had not done it does when it goes on.
TEST_F(etcd_late_requests_to_three, in_a_follower_that_stood_still_hold_nothing) {
    constexpr int callers = 5;
    const std::size_t leader = all().leader();
    servers::server& follower = all().member((leader + 1) % 3);
    const std::string hosts =
        follower.address() + "," + all().member(leader).address() + "," + all().member((leader + 2) % 3).address();
    client others{url({}, all().member(leader).address())};
    std::vector<hold> theirs;
    std::vector<client> locks;
    for (int n = 0; n < callers; ++n) locks.emplace_back(url({}, hosts));
    for (int n = 0; n < callers; ++n) {
        theirs.push_back(others.acquire("n" + std::to_string(n)));
        const hold used = locks[n].acquire("warm" + std::to_string(n));
    }
    follower.freeze();
    std::vector<std::jthread> crew;
    std::atomic<int> busy{0};
    for (int n = 0; n < callers; ++n)
        crew.emplace_back([&, n] { busy += locks[n].try_acquire("n" + std::to_string(n)).reason() == errc::busy; });
    crew.clear();
    EXPECT_EQ(busy, callers);
    for (hold& each : theirs) each.release();
    follower.thaw();
    for (int n = 0; n < callers; ++n) EXPECT_TRUE(others.try_acquire("n" + std::to_string(n), {.wait = 15s})) << n;
    EXPECT_TRUE(eventually([&] { return others.list().empty(); }));
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
