// Requests that arrive late, twice or never: nothing is held by nobody.
#include "support/late_requests.hpp"

#include "stores/redis/servers/suite.hpp"
#include "support/sanitizers.hpp"

#include <gmock/gmock.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::late_requests;
using ::testing::IsEmpty;

class redis_late_requests : public on_one_server {
protected:
    // The shortest lease; one as long as a client waits for an answer; a longer one; and one that keeps what is orphaned for
    // longer than a cell waits.
    late_requests matrix() {
        using verb = late_requests::verb;
        using trouble = late_requests::trouble;
        late_requests all;
        all.verbs = {verb::claim, verb::release, verb::cancel, verb::renewal, verb::first_claim};
        all.troubles = {trouble::held, trouble::reply_lost, trouble::silent, trouble::overtaken};
        all.servers = {node().port()};
        all.url_at = [this](const std::vector<std::uint16_t>& ports) { return url(ports.front(), "&timeout=1s"); };
        all.leases = {100ms, 1s, 3s, 60s};
        all.free_within = 20s;
        all.every = testing::under_asan || testing::under_tsan ? 20 : 1;
        return all;
    }
};

TEST_F(redis_late_requests, leave_nothing_behind) {
    EXPECT_THAT(matrix().run(), IsEmpty());
    client looks{url()};
    EXPECT_TRUE(testing::eventually([&] { return looks.list().empty(); })) << looks.list().front().name;
}

// The same of locks that are kept as other clients keep them; cancelled waits need a list of who waits.
TEST_F(redis_late_requests, leave_nothing_behind_of_locks_that_others_share) {
    for (const std::string how : {"setnx", "redisson", "redisson&fair=1"}) {
        late_requests all = matrix();
        std::erase(all.verbs, late_requests::verb::cancel);
        all.leases = {1s, 60s};
        all.every = testing::under_asan || testing::under_tsan ? 20 : 2;
        const std::string keys = prefix_ + std::to_string(how.size()) + ":";
        all.url_at = [&](const std::vector<std::uint16_t>& ports) {
            return "redis://127.0.0.1:" + std::to_string(ports.front()) + "?timeout=1s&protocol=" + how +
                   "&key_prefix=" + keys;
        };
        EXPECT_THAT(all.run(), IsEmpty()) << how;
        EXPECT_TRUE(testing::eventually([&] { return node().command({"keys", keys + "*"}).empty(); })) << how;
    }
}

}  // namespace
}  // namespace mortise::stores::redis::servers
