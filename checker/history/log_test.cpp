#include "checker/history/log.hpp"

#include "checker/history/operation.hpp"
#include "support/children.hpp"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace mortise::checker;
using mortise::testing::child;
using mortise::testing::milestone;
using mortise::testing::scratch_directory;

TEST(history_log, keeps_what_a_killed_process_wrote) {
    const scratch_directory home;
    milestone written;
    child writer{[&] {
        history_log notes{home / "a"};
        record note{.op = notes.next_op(), .lock = 3, .what = act::acquire};
        notes.write(note);
        note.is = phase::ok;
        note.token = 77;
        notes.write(note);
        notes.write({.op = notes.next_op(), .lock = 3, .what = act::release, .attempt = note.op});
        written.reach();
        std::this_thread::sleep_for(std::chrono::seconds{60});
        return 0;
    }};
    ASSERT_EQ(written.await(), 'x');
    const auto pid = static_cast<std::uint32_t>(writer.pid());
    writer.kill();
    const history all = merged({home / "a"});
    ASSERT_EQ(all.records.size(), 3U);
    EXPECT_FALSE(all.full);
    EXPECT_EQ(all.torn, 0U);
    EXPECT_EQ(all.records[1].token, 77U);
    EXPECT_EQ(all.records[1].pid, pid);
    EXPECT_LE(all.records[0].at, all.records[1].at);
    const auto operations = operations_of(all);
    ASSERT_EQ(operations.size(), 2U);
    EXPECT_EQ(operations[0].is, phase::ok);
    EXPECT_EQ(operations[1].is, phase::unknown) << "the release had no answer: it never failed";
    EXPECT_EQ(operations[1].ended, never);
}

TEST(history_log, says_when_it_is_full) {
    const scratch_directory home;
    history_log notes{home / "a", 2};
    for (int i = 0; i < 3; ++i) notes.write({.what = act::valid});
    const log_contents found = read_log(home / "a");
    EXPECT_EQ(found.records.size(), 2U);
    EXPECT_TRUE(found.full);
}

TEST(history_log, leaves_out_what_was_begun_and_not_finished) {
    const scratch_directory home;
    {
        history_log notes{home / "a", 8};
        notes.write({.what = act::valid});
        notes.write({.what = act::valid});
        std::fstream file{home / "a", std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(64);
        const std::int64_t nothing = 0;
        file.write(reinterpret_cast<const char*>(&nothing), sizeof nothing);  // the first has no time yet
    }
    const log_contents found = read_log(home / "a");
    EXPECT_EQ(found.records.size(), 1U);
    EXPECT_EQ(found.torn, 1U);
}

TEST(history_log, takes_from_many_threads_and_gives_ops_that_differ) {
    const scratch_directory home;
    {
        history_log notes{home / "a"};
        std::vector<std::thread> writers;
        for (int i = 0; i < 4; ++i)
            writers.emplace_back([&] {
                for (int n = 0; n < 1000; ++n) {
                    record note{.op = notes.next_op(), .what = act::release};
                    notes.write(note);
                    note.is = phase::ok;
                    notes.write(note);
                }
            });
        for (std::thread& one : writers) one.join();
    }
    EXPECT_EQ(operations_of(merged({home / "a"})).size(), 4000U);
}

TEST(history_log, of_a_process_that_was_killed_before_it_began_is_empty) {
    const scratch_directory home;
    std::ofstream{home / "made"};
    std::ofstream{home / "lengthened"} << std::string(6400, '\0');
    for (const char* name : {"made", "lengthened"}) {
        EXPECT_TRUE(read_log(home / name).records.empty()) << name;
        EXPECT_FALSE(read_log(home / name).full) << name;
    }
}

TEST(history_log, refuses_what_is_no_log) {
    const scratch_directory home;
    std::ofstream{home / "a"} << std::string(200, 'x');
    EXPECT_THROW(read_log(home / "a"), std::runtime_error);
    EXPECT_THROW(read_log(home / "none"), std::system_error);
}

TEST(history_log, merges_processes_by_time_and_pairs_each_with_its_own) {
    const std::vector<record> mixed{
        {.at = 30, .pid = 1, .op = 5, .what = act::acquire, .is = phase::ok, .token = 1},
        {.at = 10, .pid = 1, .op = 5, .what = act::acquire},
        {.at = 20, .pid = 2, .op = 5, .what = act::acquire},
        {.at = 25, .pid = 2, .op = 5, .what = act::acquire, .is = phase::unknown},
    };
    const auto operations = operations_of(sorted(mixed));
    ASSERT_EQ(operations.size(), 2U);
    EXPECT_EQ(operations[0].pid, 1U);
    EXPECT_EQ(operations[0].ended, 30);
    EXPECT_EQ(operations[1].is, phase::unknown);
    EXPECT_EQ(operations[1].ended, never) << "what is unknown may still happen";
}

}  // namespace
