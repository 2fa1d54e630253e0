// What tests of protocol=redisson have in common. A peer here does what the recording shows of it.
#pragma once

#include "stores/redis/servers/single.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {

class redis_redisson : public ::testing::Test {
protected:
    static inline const std::string peer = "587b2bdf-414d-4819-8a7b-f1701a8b43c0:33";
    static inline const std::string channel_of_orders = "redisson_lock__channel:{orders}";

    std::string url(const std::string& more = {}) { return url(node().port(), more); }
    static std::string url(std::uint16_t port, const std::string& more = {}) {
        return "redis://127.0.0.1:" + std::to_string(port) + "?protocol=redisson" + more;
    }
    // Without the end of the line.
    std::string command(const std::vector<std::string>& words) {
        std::string reply = node().command(words);
        while (reply.ends_with('\n')) reply.pop_back();
        return reply;
    }
    servers::server& node() { return on_.node(); }

    void peer_locks(int lease_ms, int count = 1, const std::string& name = "orders") {
        command({"hincrby", name, peer, std::to_string(count)});
        command({"pexpire", name, std::to_string(lease_ms)});
    }
    void peer_unlocks(const std::string& name = "orders") {
        if (command({"hincrby", name, peer, "-1"}) != "0") return;
        command({"del", name});
        command({"publish", "redisson_lock__channel:{" + name + "}", "0"});
    }
    // All keys but those that remember a release, and go by themselves.
    std::string locks_left() {
        std::istringstream keys{command({"keys", "*"})};
        std::string all;
        for (std::string key; std::getline(keys, key);)
            if (!key.starts_with("redisson_unlock_latch:")) all += key + " ";
        return all;
    }
    bool await_listeners(const std::string& channel, int n) {
        return testing::eventually(
            [&] {
                return command({"pubsub", "numsub", channel}) == channel + "\n" + std::to_string(n);
            },
            std::chrono::seconds{20});
    }
    static std::future<attempt> waits_for(client& locks, const std::string& name = "orders") {
        return std::async(std::launch::async,
                          [&locks, name] { return locks.try_acquire(name, {.wait = std::chrono::seconds{50}}); });
    }

private:
    servers::single on_;
};

}  // namespace mortise::inline v0::stores::redis
