// What only this store has.
#include "stores/zookeeper/servers/ensemble.hpp"

#include <mortise/client.hpp>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

TEST(zookeeper_store, locks_and_unlocks) {
    servers::ensemble zk;
    client locks{"zookeeper://" + zk.addresses()};
    hold mine = locks.acquire("n");
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
