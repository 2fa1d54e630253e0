// A fleet in small: processes that share a lock store, and a Redis that keeps what they work on.
#pragma once

#include "examples/patterns/redis_storage.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::testing {

// The servers of one test program, started when they are first needed.
class data_server {
public:
    static stores::redis::servers::server& shared() {
        static stores::redis::servers::single one;
        return one.node();
    }
    static redis_storage* open(const std::string& prefix) {
        return new redis_storage{"127.0.0.1", shared().port(), prefix};
    }
};

// Where the locks lie: on this host, or on the Redis that has the data.
class on_host_and_redis : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override { data_server::shared(); }  // not in a child

    std::string url() const {
        if (GetParam() == std::string("host")) return "host:" + (home_ / "locks");
        return "redis://" + data_server::shared().address() + "?prefix=" + prefix() + "locks";
    }
    // Of the data of this test.
    std::string prefix() const {
        const auto* const now = ::testing::UnitTest::GetInstance()->current_test_info();
        return std::string(now->test_suite_name()) + "." + now->name() + ":";
    }

private:
    scratch_directory home_;
};

// Processes that work until they are done. One that stops itself is continued after `nap`; one that is killed, or kills itself,
// is replaced.
class crew {
public:
    using work = std::function<int(int number)>;

    crew(int count, work job, std::chrono::milliseconds nap = std::chrono::milliseconds{0})
        : job_(std::move(job)), nap_(nap) {
        for (int i = 0; i < count; ++i) all_.push_back(start(i));
    }
    ~crew() {
        for (const member& each : all_)
            if (each.pid > 0) {
                ::kill(each.pid, SIGKILL);
                ::waitpid(each.pid, nullptr, 0);
            }
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // Until all have ended well. False: one did not, or it takes too long.
    bool finish(std::chrono::seconds timeout = std::chrono::seconds{90}) {
        bool well = true;
        const bool in_time = eventually([&] { return step(well) || !well; }, timeout);
        return in_time && well;
    }
    int stops() const { return stops_; }
    int deaths() const { return deaths_; }

private:
    struct member {
        int number;
        pid_t pid;
        std::chrono::steady_clock::time_point wake{};
        bool asleep = false;
    };

    member start(int number) const {
        constexpr unsigned long_enough = 3000;
        return {number, fork_process([this, number] { return job_(number); }, long_enough)};
    }

    bool step(bool& well) {
        const auto now = std::chrono::steady_clock::now();
        bool done = true;
        for (member& each : all_) {
            if (each.pid == 0) continue;
            done = false;
            if (each.asleep && now >= each.wake) {
                each.asleep = false;
                ::kill(each.pid, SIGCONT);
            }
            int status = 0;
            if (::waitpid(each.pid, &status, WNOHANG | WUNTRACED) != each.pid) continue;
            if (WIFSTOPPED(status)) {
                ++stops_;
                each.asleep = true;
                each.wake = now + nap_;
            } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
                ++deaths_;
                each = start(each.number);
            } else {
                well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
                each.pid = 0;
            }
        }
        return done;
    }

    const work job_;
    const std::chrono::milliseconds nap_;
    std::vector<member> all_;
    int stops_ = 0;
    int deaths_ = 0;
};

template <class Work>
void in_threads(int count, Work work) {
    std::vector<std::jthread> all;
    for (int i = 0; i < count; ++i) all.emplace_back([&work, i] { work(i); });
}

}  // namespace mortise::testing
