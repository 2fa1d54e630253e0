// Many processes, and slow ones: who waits is served, and nobody is blamed for being slow.
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class host_crowd : public host_suite {
protected:
    // As if a process had each of these slots.
    child with_slots_taken(std::uint32_t first, std::uint32_t count) {
        milestone taken;
        child made{[&] {
            struct flock slots {};
            slots.l_type = F_WRLCK;
            slots.l_start = (off_t{1} << 40) + first;
            slots.l_len = count;
            const int file = ::open((directory_ + "/locks").c_str(), O_RDWR | O_CLOEXEC);
            taken.reach(::fcntl(file, F_SETLK, &slots) == 0 ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        EXPECT_EQ(taken.await(), 'y');
        return made;
    }

    // In a process of its own: this one may have a slot.
    std::string said_by_another(const std::function<std::string()>& work) {
        const std::string note = scratch_ / "note";
        child other{[&] {
            std::ofstream{note} << work();
            return 0;
        }};
        EXPECT_EQ(other.wait(60s), 0);
        return bytes_of(note);
    }
    // Inside the store's own lock for a while, asleep: slow, but not stopped.
    child slow(std::chrono::seconds how_long) {
        milestone inside;
        child made{[&] {
            const auto kept = open_ledger({directory_, true});
            ledger_access in{*kept};
            inside.reach();
            std::this_thread::sleep_for(how_long);
            return 0;
        }};
        inside.await();
        return made;
    }
};

TEST_F(host_crowd, a_slow_process_is_waited_for_and_not_blamed) {
    client locks{url_};
    ASSERT_TRUE(locks.try_acquire("x"));
    child other = slow(25s);
    const attempt got = locks.try_acquire("x", {.wait = 90s});
    EXPECT_TRUE(got) << got.refusal().describe();
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_crowd, a_wait_for_a_slow_process_ends_in_time_and_says_what_it_waited_for) {
    client locks{url_};
    ASSERT_TRUE(locks.try_acquire("x"));
    child other = slow(60s);
    const auto begun = std::chrono::steady_clock::now();
    const attempt got = locks.try_acquire("x", {.wait = 4s});
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::timed_out);
    EXPECT_THAT(got.refusal().describe(),
                AllOf(HasSubstr("pid " + std::to_string(other.pid())), Not(HasSubstr("CONT"))));
}

TEST_F(host_crowd, without_a_wait_the_limit_of_processes_is_an_error_that_names_it) {
    ASSERT_GT(token_of_another(), 0u);
    child all = with_slots_taken(0, 1024);
    EXPECT_THAT(said_by_another([&] {
                    client locks{url_};
                    const attempt got = locks.try_acquire("x");
                    return got.reason() == errc::exhausted ? got.refusal().describe() : got.reason().message();
                }),
                AllOf(HasSubstr("all 1024 process slots are taken"), HasSubstr("-w"), HasSubstr("host:/path")));
}

TEST_F(host_crowd, a_claim_that_waits_gets_a_process_slot_when_one_is_free) {
    ASSERT_GT(token_of_another(), 0u);
    child most = with_slots_taken(0, 700);
    child rest = with_slots_taken(700, 324);
    milestone begun;
    child late{[&] {
        client locks{url_};
        begun.reach();
        return locks.try_acquire("x", {.wait = 60s}) ? 0 : 1;
    }};
    begun.await();
    EXPECT_EQ(late.wait(1s), -1000) << "it waits";
    rest.kill();
    EXPECT_EQ(late.wait(30s), 0);
}

TEST_F(host_crowd, a_wait_for_a_process_slot_ends_in_time_and_says_what_it_waited_for) {
    ASSERT_GT(token_of_another(), 0u);
    child all = with_slots_taken(0, 1024);
    EXPECT_THAT(said_by_another([&] {
                    client locks{url_};
                    const attempt got = locks.try_acquire("x", {.wait = 1s});
                    return got.reason() == errc::timed_out ? got.refusal().describe() : got.reason().message();
                }),
                HasSubstr("all 1024 process slots are taken"));
}

TEST_F(host_crowd, reading_needs_no_process_slot) {
    child other = holder();
    child all = with_slots_taken(1, 1023);
    EXPECT_EQ(said_by_another([&] {
                  client locks{url_};
                  std::error_code ec;
                  const auto held = locks.list();
                  std::string said = held.size() == 1 ? held[0].name + " " : "?";
                  for (const finding& one : locks.check(ec)) {
                      if (one.is == finding::grade::problem) said += one.what;
                      if (one.is == finding::grade::warning) said += "warned ";
                  }
                  return said + std::to_string(locks.list().size());
              }),
              "x warned 1");
}

}  // namespace
}  // namespace mortise::stores::host
