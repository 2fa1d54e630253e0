// fork: the child is told so by every verb and touches nothing; the parent does not notice.
#include "checker/faults/faulty_store.hpp"
#include "support/children.hpp"
#include "support/recording_observer.hpp"
#include "support/sanitizers.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// What the child found: the number of the first expectation that did not hold. gtest stays with the parent.
class findings {
public:
    void expect(bool holds) {
        ++number_;
        if (!holds && first_ == 0) first_ = number_;
    }
    template <class Call>
    void expect_forked(Call&& call) {  // thrown
        std::error_code got;
        try {
            call();
        } catch (const error& e) {
            got = e.code();
        }
        expect(got == errc::forked);
    }
    int first() const { return first_; }

private:
    int number_ = 0;
    int first_ = 0;
};

// Runs `work` in a child and answers how it ended: 0 as expected, n at its n-th expectation, -1 hung or killed.
template <class Work>
int in_child(Work&& work) {
    await_a_quiet_moment();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(30);  // a child that hangs is killed
        take_other_stacks();
        findings found;
        work(found);
        ::_exit(found.first());
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

std::string fresh_url() {
    static std::atomic<int> last{0};
    return "memory:fork-" + std::to_string(++last);
}

class forking : public ::testing::Test {
protected:
    client_options watched() const { return {.observer = seen}; }

    std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
    std::shared_ptr<fault_plan> net = std::make_shared<fault_plan>();
    const std::string url = fresh_url();
    client locks = spi::make_client(faulty(spi::factory_of(url), net), {}, watched());
    client other{url};
};

TEST_F(forking, every_verb_of_a_client_answers_forked_in_the_child) {
    const hold held = locks.acquire("job");
    EXPECT_FALSE(locks.forked());
    const claim_id id = held.id();
    EXPECT_EQ(0, in_child([&](findings& found) {
                  found.expect(locks.try_acquire("job").reason() == errc::forked);
                  found.expect(locks.try_acquire("else", {.wait = 1h}).reason() == errc::forked);
                  found.expect_forked([&] { static_cast<void>(locks.acquire("else")); });
                  std::error_code ec;
                  found.expect(!locks.acquire("else", {}, ec) && ec == errc::forked);
                  int answers = 0;
                  std::error_code why;
                  locks.start({.name = "else"}, [&](attempt got) {
                      ++answers;
                      why = got.reason();
                  });
                  found.expect(answers == 1);
                  found.expect(why == errc::forked);
                  found.expect(locks.release("job", id, ec) == release_result::unknown && ec == errc::forked);
                  found.expect(locks.promises().tokens);
                  found.expect(!locks.store().empty());
                  found.expect(locks.forked());
              }));
    EXPECT_TRUE(held.valid());
}

// Its mutexes may be taken for ever by threads that the child does not have.
class store_with_a_doorman final : public spi::store_wrapper {
public:
    store_with_a_doorman(const spi::context& outer, const spi::store_factory& inner, std::atomic<int>& visits)
        : store_wrapper(outer, inner), visits_(visits) {}
    void will_sleep(bool whether) noexcept override {
        ++visits_;
        store_wrapper::will_sleep(whether);
    }
    void sleep(spi::sleeper& who) override {
        ++visits_;
        store_wrapper::sleep(who);
    }
    void wake(spi::sleeper& who) noexcept override {
        ++visits_;
        store_wrapper::wake(who);
    }

private:
    std::atomic<int>& visits_;
};

TEST_F(forking, a_call_that_blocks_does_not_enter_the_store_in_the_child) {
    std::atomic<int> visits{0};
    client guarded = spi::make_client([&](const spi::context& outer) {
        return std::make_unique<store_with_a_doorman>(outer, spi::factory_of(url), visits);
    });
    const hold held = guarded.acquire("job");
    EXPECT_GT(visits, 0);
    EXPECT_EQ(0, in_child([&](findings& found) {
                  visits = 0;
                  found.expect(guarded.try_acquire("job").reason() == errc::forked);
                  found.expect_forked([&] { static_cast<void>(guarded.acquire("else")); });
                  found.expect(visits == 0);
              }));
}

TEST_F(forking, every_verb_of_a_hold_answers_forked_in_the_child) {
    hold held = locks.acquire("job");
    EXPECT_EQ(0, in_child([&](findings& found) {
                  std::error_code ec;
                  found.expect(!held.valid());
                  found.expect(!held);
                  found.expect(held.remaining() == 0ns);
                  found.expect(held.valid_until() == boot_clock::time_point::min());
                  found.expect_forked([&] { static_cast<void>(held.token()); });
                  found.expect(held.token(ec) == token{} && ec == errc::forked);
                  found.expect(!held.lost().stop_requested());
                  held.on_lost([] {});
                  found.expect(held.release(ec) == release_result::unknown && ec == errc::forked);
                  found.expect(held.release() == release_result::unknown);
                  found.expect(held.name() == "job");
                  found.expect(net->calls(verb::release) == 0);
              }));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
}

template <class Mutex>
void expect_forked_verbs(findings& found, Mutex& door) {
    std::error_code ec;
    found.expect_forked([&] { door.lock(); });
    door.lock(ec);
    found.expect(ec == errc::forked);
    found.expect_forked([&] { static_cast<void>(door.try_lock()); });
    found.expect(!door.try_lock(ec) && ec == errc::forked);
    found.expect_forked([&] { static_cast<void>(door.try_lock_for(1h)); });
    found.expect_forked([&] { static_cast<void>(door.try_lock_until(boot_clock::now() + 1h)); });
    door.unlock(ec);
    found.expect(ec == errc::forked);
    door.unlock();
    found.expect_forked([&] { static_cast<void>(door.hold()); });
    found.expect(!door.name().empty());
}

TEST_F(forking, every_verb_of_a_mutex_answers_forked_in_the_child_held_or_not) {
    mortise::mutex held(locks, "held");
    mortise::mutex idle(locks, "idle");
    recursive_mutex nested(locks, "nested");
    const std::scoped_lock guard{held, nested};
    EXPECT_EQ(0, in_child([&](findings& found) {
                  expect_forked_verbs(found, held);
                  expect_forked_verbs(found, idle);
                  expect_forked_verbs(found, nested);
                  const owner somebody;
                  std::error_code ec;
                  nested.lock(somebody, ec);
                  found.expect(ec == errc::forked);
                  found.expect(net->calls(verb::claim) == 2 && net->calls(verb::release) == 0);
              }));
    EXPECT_TRUE(held.hold().valid());
    EXPECT_TRUE(nested.hold().valid());
    EXPECT_TRUE(idle.try_lock());
    idle.unlock();
}

TEST_F(forking, destructors_in_the_child_touch_nothing_of_the_parents) {
    auto inherited = std::make_unique<client>(spi::make_client(faulty(spi::factory_of(url), net), {}, watched()));
    auto handle = std::make_unique<hold>(inherited->acquire("handle"));
    auto door = std::make_unique<mortise::mutex>(*inherited, "door");
    auto nest = std::make_unique<recursive_mutex>(*inherited, "nest");
    std::optional<std::scoped_lock<mortise::mutex, recursive_mutex>> guard(std::in_place, *door, *nest);
    EXPECT_EQ(0, in_child([&](findings& found) {
                  guard.reset();
                  handle.reset();
                  door.reset();
                  inherited.reset();
                  nest.reset();  // also after its client
                  found.expect(net->calls(verb::release) == 0);
              }));
    EXPECT_TRUE(handle->valid());
    EXPECT_TRUE(door->hold().valid());
    EXPECT_FALSE(other.try_acquire("handle"));
    EXPECT_FALSE(other.try_acquire("nest"));
    guard.reset();
    EXPECT_EQ(handle->release(), release_result::released);
    EXPECT_TRUE(other.try_acquire("handle"));
}

TEST_F(forking, assigning_over_inherited_objects_in_the_child_touches_nothing) {
    hold held = locks.acquire("job");
    EXPECT_EQ(0, in_child([&](findings& found) {
                  held = hold{};
                  found.expect(net->calls(verb::release) == 0);
              }));
    EXPECT_TRUE(held.valid());
}

TEST_F(forking, the_parent_keeps_renewing) {
    const hold held = locks.acquire("job", {.lease = 3s});
    EXPECT_EQ(0, in_child([&](findings& found) { found.expect(!held.valid()); }));
    EXPECT_TRUE(seen->wait_for(event_kind::renewed, 2));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());
}

TEST_F(forking, a_waiting_thread_of_the_parent_gets_its_lock_all_the_same) {
    hold first = locks.acquire("job");
    hold elsewhere = other.acquire("elsewhere");
    std::atomic<int> got{0};
    std::thread local([&] {
        const hold mine = locks.acquire("job");  // waits for this very client
        got += mine.valid() ? 1 : 0;
    });
    std::thread remote([&] {
        const hold mine = locks.acquire("elsewhere");  // waits in the store's line
        got += mine.valid() ? 1 : 0;
    });
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 2));
    EXPECT_EQ(0, in_child([&](findings& found) {
                  found.expect(locks.try_acquire("job").reason() == errc::forked);
                  found.expect(!first.valid());
                  const hold dropped = std::move(first);
              }));
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_EQ(elsewhere.release(), release_result::released);
    local.join();
    remote.join();
    EXPECT_EQ(got, 2);
}

TEST_F(forking, a_child_may_make_a_client_of_its_own) {
    const hold held = locks.acquire("job");
    EXPECT_EQ(0, in_child([&](findings& found) {
                  client own{"memory:of-the-child"};
                  const hold mine = own.acquire("job");
                  found.expect(mine.valid());
                  mortise::mutex door(own, "door");
                  door.lock();
                  found.expect(door.hold().valid());
                  found.expect(!held.valid());
              }));
    EXPECT_TRUE(held.valid());
}

TEST_F(forking, a_child_forked_in_the_middle_of_anything_neither_hangs_nor_harms) {
    if (under_tsan || under_asan)
        GTEST_SKIP() << "the sanitizer's own allocator may be locked by another thread at the moment of a fork";
    std::atomic<bool> over{false};
    std::atomic<int> rounds{0};
    std::vector<std::thread> busy;
    for (int i = 0; i < 4; ++i)
        busy.emplace_back([&, i] {
            mortise::mutex door(locks, "door");
            while (!over) {
                const std::scoped_lock guard{door};
                const hold own = (i % 2 != 0 ? locks : other).acquire("own " + std::to_string(i));
                rounds += own.valid() ? 1 : 0;
            }
        });
    auto door = std::make_unique<mortise::mutex>(locks, "door");
    hold held = locks.acquire("held");
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(0, in_child([&](findings& found) {
                      found.expect(locks.try_acquire("door", {.wait = 1h}).reason() == errc::forked);
                      found.expect(!held.valid() && held.release() == release_result::unknown);
                      expect_forked_verbs(found, *door);
                      door.reset();
                      held = hold{};
                      const client dropped = std::move(locks);
                  }));
        const int before = rounds;
        EXPECT_TRUE(eventually([&] { return rounds > before + 10; }));
    }
    over = true;
    for (std::thread& one : busy) one.join();
    EXPECT_TRUE(held.valid());
}

}  // namespace
}  // namespace mortise::testing
