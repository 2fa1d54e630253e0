// Locks of other clients and ours on one key, with protocol=setnx.
#include "stores/redis/servers/foreign_contest.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/waiting.hpp"

#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {
namespace {

using servers::foreign_contest;

class redis_interop : public ::testing::Test {
protected:
    void contend(const std::string& key_prefix, const std::string& worker, const std::string& name) {
        foreign_contest{.url = "redis://" + on_.node().address() + "?protocol=setnx&key_prefix=" + key_prefix,
                        .worker = worker,
                        .where = std::to_string(on_.node().port()),
                        .name = name,
                        .times = static_cast<int>(testing::scale(2500))}
            .run();
    }

private:
    servers::single on_;
};

TEST_F(redis_interop, a_lock_of_redis_py_and_ours_exclude_each_other) {
    contend("lock:", "/usr/bin/python3 " + foreign_contest::program("redis_py_worker.py"), "lock:both");
}

class redis_interop_with_node : public redis_interop {
protected:
    void SetUp() override {
        if (!foreign_contest::with_node()) GTEST_SKIP() << "make interop runs it";
    }
    static std::string worker(const std::string& library) {
        return "node " + foreign_contest::program("node_worker.js") + " " + library;
    }
};

TEST_F(redis_interop_with_node, a_lock_of_redlock_and_ours_exclude_each_other) {
    contend("lock:", worker("redlock"), "lock:both");
}

TEST_F(redis_interop_with_node, a_mutex_of_redis_semaphore_and_ours_exclude_each_other) {
    contend("mutex:", worker("redis-semaphore"), "both");
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
