// What the tests of the host store have in common: a directory of their own, and other processes in it.
#pragma once

#include "support/children.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::testing {

using namespace std::chrono_literals;

constexpr uid_t nobody = 65534;

class host_suite : public ::testing::Test {
protected:
    // Another process that holds "x" until it is killed.
    child holder(const claim_options& options = {}) {
        milestone ready;
        child made{[&] {
            client locks{url_};
            const hold mine = locks.acquire("x", options);
            ready.reach(mine.valid() ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        EXPECT_EQ(ready.await(), 'y');
        return made;
    }

    // Another process that waits for "x". The queue has it when this returns; `place` is the one it must have there.
    child waiter(
        std::size_t place, const std::function<int(hold)>& then = [](const hold&) { return 0; }) {
        child made{[&] {
            client locks{url_};
            return then(locks.acquire("x"));
        }};
        client onlooker{url_};
        EXPECT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == place + 1; }))
            << onlooker.try_acquire("x").refusal().describe();
        return made;
    }

    // A token of "x", taken by a new process.
    std::uint64_t token_of_another() {
        const std::string file = scratch_ / "token";
        child taker{[&] {
            client locks{url_};
            std::ofstream{file} << locks.acquire("x", {.wait = 20s}).token().value();
            return 0;
        }};
        EXPECT_EQ(taker.wait(), 0);
        std::uint64_t value = 0;
        std::ifstream{file} >> value;
        return value;
    }

    scratch_directory scratch_;
    std::string directory_ = scratch_ / "store";
    std::string url_ = "host:" + directory_;
};

inline std::string bytes_of(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>(in), {}};
}

// What a client says about a directory it cannot use; "none" if it can.
inline std::string complaint(const std::string& url) {
    client locks{url};
    const attempt got = locks.try_acquire("x", {.wait = 5s});
    if (got) return "none";
    return got.reason() == errc::unreachable || got.reason() == errc::exhausted
               ? got.refusal().describe()
               : "wrong code: " + got.reason().message();
}

// The same as seen by a process without privileges: root is not stopped by modes.
inline std::string complaint_to_nobody(const std::string& url, const std::string& note) {
    std::ofstream{note} << "";
    ::chmod(note.c_str(), 0666);
    child other{[&] {
        if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) return 1;
        std::ofstream{note} << complaint(url);
        return 0;
    }};
    EXPECT_EQ(other.wait(), 0);
    return bytes_of(note);
}

}  // namespace mortise::testing
