// node's redlock and redlock:// on the same servers.
#include "stores/redis/servers/foreign_contest.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "support/waiting.hpp"

#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using redis::servers::foreign_contest;

TEST(redlock_interop, a_majority_of_nodes_redlock_and_one_of_ours_exclude_each_other) {
    if (!foreign_contest::with_node()) GTEST_SKIP() << "make interop runs it";
    servers::nodes nodes{3};
    std::string ports;
    for (std::size_t i = 0; i < nodes.size(); ++i) ports += (i > 0 ? "," : "") + std::to_string(nodes[i].port());
    foreign_contest{.url = "redlock://" + nodes.hosts() + "?node_timeout=5s&key_prefix=lock:",
                    .worker = "node " + foreign_contest::program("node_worker.js") + " redlock",
                    .where = ports,
                    .name = "lock:both",
                    .times = static_cast<int>(testing::scale(500))}
        .run();
}

}  // namespace
}  // namespace mortise::inline v0::stores::redlock
