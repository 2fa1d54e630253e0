// Requests that arrive late, elsewhere, twice or never: no node belongs to nobody.
#include "support/late_requests.hpp"

#include "stores/zookeeper/servers/suite.hpp"
#include "support/sanitizers.hpp"

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;
using ::testing::IsEmpty;
using testing::late_requests;

// A session of five seconds gives leases of two at most. It outlives a trouble of four, or just not, and the C client turns to
// another member in the middle of it.
late_requests matrix(ensemble& on, const std::string& root) {
    using verb = late_requests::verb;
    using trouble = late_requests::trouble;
    late_requests all;
    all.verbs = {verb::claim, verb::release, verb::cancel, verb::renewal, verb::first_claim};
    all.troubles = {trouble::held, trouble::reply_lost, trouble::silent, trouble::overtaken};
    for (std::size_t i = 0; i < on.size(); ++i) all.servers.push_back(on[i].port());
    all.url_at = [root](const std::vector<std::uint16_t>& ports) {
        std::string hosts;
        for (const std::uint16_t port : ports)
            hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
        return "zookeeper://" + hosts + root + "?session=5s";
    };
    all.leases = {200ms, 1s, 2s};
    all.least_lease = 5s;
    all.free_within = 20s;
    all.lasts = 4s;
    all.every = testing::under_asan || testing::under_tsan ? 20 : 1;
    return all;
}

void expect_nothing_behind(ensemble& on) {
    EXPECT_THAT(matrix(on, "/late").run(), IsEmpty());
    client looks{"zookeeper://" + on.addresses() + "/late"};
    EXPECT_TRUE(eventually([&] { return looks.list().empty(); }, plenty)) << looks.list().front().name;
}

TEST(zookeeper_late_requests, to_one_server_leave_nothing_behind) {
    ensemble alone;
    expect_nothing_behind(alone);
}

TEST(zookeeper_late_requests, that_another_member_answered_leave_nothing_behind) {
    ensemble three{3};
    expect_nothing_behind(three);
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
