// Crowds of `run`. `make storms` has them in full length.
#include "program.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <iostream>

namespace command {
namespace {

using mortise::testing::scale;

class command_storm : public command_suite {
protected:
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }
};

TEST_F(command_storm, no_update_is_lost) {
    constexpr int crowd = 64;
    const auto rounds = scale(50);
    std::ofstream{scratch_ / "n"} << "0\n";
    const std::string add_one = "read n < $S/n; echo $((n+1)) > $S/n";
    std::vector<child> all;
    for (int i = 0; i < crowd; ++i) {
        all.emplace_back([&] {
            ::setenv("S", scratch_.path().c_str(), 1);
            ::setenv("PROGRAM", MORTISE_PROGRAM, 1);
            ::alarm(280);
            const std::string loop = "i=0; while [ $i -lt " + std::to_string(rounds) +
                                     " ]; do \"$PROGRAM\" run counter -- sh -c '" + add_one +
                                     "' || exit 1; i=$((i+1)); done";
            ::execlp("sh", "sh", "-c", loop.c_str(), nullptr);
            return 98;
        });
    }
    for (child& each : all) EXPECT_EQ(each.wait(280s), 0);
    EXPECT_EQ(content(scratch_ / "n"), std::to_string(crowd * rounds) + "\n");
    EXPECT_TRUE(held().empty());
}

TEST_F(command_storm, interrupted_waits_leave_an_empty_queue) {
    mortise::client locks{"host:" + store_};
    const mortise::hold mine = locks.acquire("x");
    const auto total = scale(1000);
    std::uint64_t interrupted = 0;
    for (std::uint64_t done = 0; done < total;) {
        const auto crowd = std::min<std::uint64_t>(25, total - done);
        std::vector<child> all;
        for (std::uint64_t i = 0; i < crowd; ++i) all.push_back(start({"run", "x", "--", "true"}));
        // Half of them in the queue for sure, the others wherever they are.
        if (done % 50 == 0) {
            EXPECT_TRUE(eventually([&] { return locks.list().front().waiting == crowd; }, 60s));
        }
        for (std::size_t i = 0; i < all.size(); ++i) all[i].tell(i % 5 == 4 ? SIGKILL : i % 2 == 0 ? SIGINT : SIGTERM);
        for (child& each : all) {
            const int code = each.wait();
            EXPECT_TRUE(code == 130 || code == 143 || code < 0) << code;  // < 0: before it heeded signals, or KILL
            EXPECT_NE(code, -1000);
            interrupted += code == 130 || code == 143 ? 1 : 0;
        }
        done += crowd;
    }
    std::cout << "interrupted_while_waiting=" << interrupted << "/" << total << "\n";
    EXPECT_TRUE(eventually([&] { return locks.list().front().waiting == 0; }));
    EXPECT_EQ(content(scratch_ / "err"), "");
}

}  // namespace
}  // namespace command
