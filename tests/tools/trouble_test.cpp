// `run` when the store is stuck: a stopped process keeps the lock word of host:.
#include "program.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;

class a_stuck_store : public command_suite {
protected:
    child stopped_inside() const {
        child made{[this] {
            const auto kept = mortise::stores::host::open_ledger({store_, true});
            mortise::stores::host::ledger_access in{*kept};
            ::raise(SIGSTOP);
            return 0;
        }};
        EXPECT_TRUE(made.stopped());
        return made;
    }
    static long long wall_clock() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
};

// No renewal can be later than the moment the store got stuck, so a lease after that moment the lock may be anybody's.
TEST_F(a_stuck_store, the_command_is_stopped_before_its_lease_ends) {
    const std::string beat = scratch_ / "beat";
    child made = start({"run", "--lease", "3s", "x", "--", "sh", "-c",
                        "echo begun > " + scratch_ / "begun" + "; while :; do date +%s%N >> " + beat + "; done"});
    ASSERT_TRUE(eventually_says("begun", "begun"));
    std::this_thread::sleep_for(1500ms);  // into the life of a renewed lease
    child other = stopped_inside();
    const long long stuck = wall_clock();

    EXPECT_EQ(made.wait(), 75) << "while the store is still stuck";
    EXPECT_THAT(content(scratch_ / "err"), HasSubstr("could not be renewed"));
    std::ifstream notes{beat};
    long long last = 0;
    for (long long each = 0; notes >> each;) last = std::max(last, each);
    EXPECT_GT(last, 0);
    EXPECT_LT(last, stuck + 3'000'000'000);
    std::cout << "last_sign_of_life_after_ms=" << (last - stuck) / 1'000'000 << "\n";

    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(mortise({"run", "-w", "20s", "x", "--", "true"}).code, 0);
}

TEST_F(a_stuck_store, is_reported_with_who_is_to_blame) {
    child other = stopped_inside();
    const outcome got = mortise({"run", "-n", "x", "--", "true"});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.err, HasSubstr(std::to_string(other.pid())));
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(a_stuck_store, does_not_keep_a_wait_from_ending) {
    child holder = start({"run", "x", "--", "sh", "-c", "echo begun > " + scratch_ / "begun" + "; exec sleep 600"});
    ASSERT_TRUE(eventually_says("begun", "begun"));
    child waiter = start({"run", "x", "--", "true"});
    std::this_thread::sleep_for(300ms);
    child other = stopped_inside();
    waiter.tell(SIGINT);
    EXPECT_EQ(waiter.wait(), 130);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    holder.tell(SIGTERM);
    EXPECT_EQ(holder.wait(), 143);
}

// Whoever comes next finds another file and is let in, so this one must go.
TEST_F(a_stuck_store, that_is_removed_or_replaced_ends_the_command) {
    child made = start({"run", "x", "--", "sh", "-c", "echo begun > " + scratch_ / "begun" + "; sleep 100"});
    ASSERT_TRUE(eventually_says("begun", "begun"));
    std::filesystem::rename(store_, store_ + ".old");
    EXPECT_EQ(made.wait(60s), 75);
    EXPECT_THAT(content(scratch_ / "err"), HasSubstr("the lock was lost"));
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 0);
}

}  // namespace
}  // namespace command
