// Readers, writers, and reads that become writes.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

template <class L>
concept shared_timed_lockable = timed_lockable<L> && requires(L& lock) {
    lock.lock_shared();
    lock.unlock_shared();
    { lock.try_lock_shared() } -> std::same_as<bool>;
    { lock.try_lock_shared_for(std::chrono::milliseconds{1}) } -> std::same_as<bool>;
    { lock.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
static_assert(shared_timed_lockable<shared_mutex>);

class shared : public store_suite {
protected:
    void SetUp() override {
        std::optional<error> refused;
        try {
            mine_.emplace(locks_, "n");
            theirs_.emplace(others_, "n");
        } catch (const error& e) {
            refused = e;
        }
        if (can().most_capacity >= needed) {
            ASSERT_FALSE(refused) << refused->what();
        } else {
            ASSERT_TRUE(refused && refused->code() == errc::unsupported) << "not promised, so refused by name";
            GTEST_SKIP() << "exclusive locks only, and refused: " << refused->what();
        }
    }
    static constexpr std::uint32_t needed = std::uint32_t{1} << 31;  // of capacity, by a lock with readers

    // What another thread would be told; each is an owner of its own.
    bool free_for_reading() {
        return elsewhere([&] { return theirs().try_lock_shared() && (theirs().unlock_shared(), true); });
    }
    bool free_for_writing() {
        return elsewhere([&] { return theirs().try_lock() && (theirs().unlock(), true); });
    }
    bool free_for_upgradeable() {
        return elsewhere([&] { return theirs().try_lock_upgradeable() && (theirs().unlock_upgradeable(), true); });
    }
    static bool elsewhere(const std::function<bool()>& asks) {
        bool answer = false;
        std::thread{[&] { answer = asks(); }}.join();
        return answer;
    }

    // Waits in the queue for a write, and says when it has it. Not for ever: a test that fails keeps the lock until it has gone.
    struct writer {
        std::atomic<bool> in{false};
        std::atomic<bool> leave{false};
        std::jthread thread;

        explicit writer(shared_mutex& lock)
            : thread([this, &lock] {
                  if (!lock.try_lock_for(5 * plenty)) return;
                  in = true;
                  while (!leave) std::this_thread::sleep_for(1ms);
                  lock.unlock();
              }) {}
        ~writer() { leave = true; }
    };
    // Until a read is refused, somebody who came before it waits.
    bool somebody_waits() {
        return eventually([&] { return !free_for_reading(); }, plenty);
    }

    client locks_ = make_client();
    client others_ = make_client();
    shared_mutex& mine() { return *mine_; }
    shared_mutex& theirs() { return *theirs_; }

private:
    std::optional<shared_mutex> mine_;
    std::optional<shared_mutex> theirs_;
};
EVERY_STORE(shared);

// Reads that become writes, and the other way round.
class upgrades : public shared {
protected:
    void SetUp() override {
        shared::SetUp();
        if (IsSkipped() || HasFatalFailure() || can().upgrades) return;
        expect_refused();
        GTEST_SKIP() << "the store does not promise upgrades, and refuses them";
    }

private:
    void expect_refused() {
        mine().lock_upgradeable();
        std::error_code ec;
        mine().upgrade(ec);
        EXPECT_EQ(ec, errc::unsupported);
        EXPECT_FALSE(mine().try_upgrade(ec));
        EXPECT_EQ(ec, errc::unsupported);
        EXPECT_TRUE(mine().hold().valid()) << "what is refused leaves the read as it was";
        mine().unlock_upgradeable();
        mine().lock();
        try {
            mine().downgrade();
            ADD_FAILURE() << "a downgrade that is not promised";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unsupported);
            EXPECT_NE(std::string(e.what()).find("upgrades"), std::string::npos) << e.what();
        }
        EXPECT_TRUE(mine().hold().valid());
        mine().unlock();
    }
};
EVERY_STORE(upgrades);

TEST_P(shared, readers_go_together_and_a_writer_alone) {
    {
        std::shared_lock reading{mine()};
        EXPECT_TRUE(mine().hold().valid());
        EXPECT_TRUE(free_for_reading());
        EXPECT_FALSE(free_for_writing());
    }
    {
        std::unique_lock writing{mine()};
        EXPECT_FALSE(free_for_reading());
        EXPECT_FALSE(free_for_writing());
    }
    EXPECT_TRUE(free_for_writing());
}

TEST_P(shared, a_waiting_writer_goes_before_later_readers) {
    if (!can().fifo) GTEST_SKIP() << no_line;
    mine().lock_shared();
    writer waits{theirs()};
    ASSERT_TRUE(somebody_waits());
    EXPECT_FALSE(
        elsewhere([&] { return answer_to(20ms, [&](auto wait) { return mine().try_lock_shared_for(wait); }); }));
    EXPECT_FALSE(waits.in);
    mine().unlock_shared();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(shared, a_stream_of_readers_does_not_starve_a_writer) {
    if (!can().fifo) GTEST_SKIP() << no_line;
    std::atomic<bool> over{false};
    std::atomic<int> inside{0};
    std::vector<std::jthread> readers;
    for (int i = 0; i < 4; ++i)
        readers.emplace_back([&, i] {
            shared_mutex own{i % 2 == 0 ? locks_ : others_, "n"};
            while (!over) {
                std::shared_lock reading{own};
                ++inside;
                std::this_thread::sleep_for(2ms);  // they overlap: the lock is never free
                --inside;
            }
        });
    for (int n = 0; n < 5; ++n) {
        ASSERT_TRUE(mine().try_lock_for(plenty));
        EXPECT_EQ(inside, 0);
        mine().unlock();
    }
    over = true;
}

TEST_P(shared, an_upgradeable_read_goes_with_readers_and_not_with_a_writer) {
    mine().lock_shared();
    EXPECT_TRUE(free_for_upgradeable());
    mine().unlock_shared();
    mine().lock();
    EXPECT_FALSE(free_for_upgradeable());
    mine().unlock();
}

TEST_P(shared, there_is_one_upgradeable_read_at_a_time) {
    mine().lock_upgradeable();
    EXPECT_TRUE(free_for_reading());
    EXPECT_FALSE(free_for_upgradeable());
    EXPECT_FALSE(free_for_writing());
    mine().unlock_upgradeable();
    EXPECT_TRUE(free_for_upgradeable());
}

TEST_P(upgrades, an_upgrade_waits_for_the_readers_inside_and_nobody_comes_between) {
    if (!can().fifo) GTEST_SKIP() << no_line;
    mine().lock_upgradeable();
    const token before = token_of(mine().hold());
    std::atomic<bool> reading{false};
    std::atomic<bool> enough{false};
    std::jthread reader{[&] {
        theirs().lock_shared();
        reading = true;
        while (!enough) std::this_thread::sleep_for(1ms);
        theirs().unlock_shared();
    }};
    ASSERT_TRUE(eventually([&] { return reading.load(); }, plenty));
    EXPECT_FALSE(mine().try_upgrade());
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) { return mine().try_upgrade_for(wait); }));
    // Not valid for a moment if it was given up before the store had answered: which of the two has it is asked first.
    EXPECT_TRUE(eventually([&] { return mine().hold().valid(); }, plenty)) << "what fails leaves the read as it was";
    EXPECT_EQ(token_of(mine().hold()), before);

    shared_mutex third{others_, "n"};
    writer waits{third};  // it came before the upgrade
    ASSERT_TRUE(somebody_waits());
    std::jthread later{[&] {
        std::this_thread::sleep_for(20ms);
        enough = true;
    }};
    // Until the one that was given up is settled, another is answered `unreachable`.
    std::error_code ec;
    EXPECT_TRUE(eventually([&] { return mine().upgrade(ec), ec != errc::unreachable; }, plenty));
    ASSERT_FALSE(ec) << ec.message();
    EXPECT_FALSE(waits.in) << "an upgrade goes before everybody who waits";
    expect_later(token_of(mine().hold()), before);
    EXPECT_FALSE(free_for_reading());
    mine().unlock();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(shared, a_plain_read_cannot_be_upgraded_and_says_why) {
    mine().lock_shared();
    for (const bool tries : {true, false}) {
        try {
            if (tries) {
                static_cast<void>(mine().try_upgrade());
            } else {
                mine().upgrade();
            }
            ADD_FAILURE();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::would_deadlock);
            EXPECT_NE(std::string(e.what()).find("lock_upgradeable"), std::string::npos) << e.what();
        }
    }
    std::error_code ec;
    EXPECT_FALSE(mine().try_upgrade(ec));
    EXPECT_EQ(ec, errc::would_deadlock);
    EXPECT_TRUE(mine().hold().valid());
    mine().unlock_shared();
    mine().upgrade(ec);
    EXPECT_EQ(ec, errc::not_owner);
}

TEST_P(upgrades, a_write_becomes_a_read_without_letting_a_writer_in) {
    mine().lock();
    const token first = token_of(mine().hold());
    writer waits{theirs()};
    ASSERT_TRUE(eventually([&] { return !elsewhere([&] { return theirs().try_lock_shared(); }); }, plenty));
    mine().downgrade();
    expect_later(token_of(mine().hold()), first);
    EXPECT_TRUE(mine().hold().valid());
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(waits.in);
    mine().upgrade();
    mine().downgrade_to_shared();
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(waits.in);
    mine().unlock_shared();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(upgrades, a_downgrade_lets_in_what_fits) {
    mine().lock();
    mine().downgrade();
    EXPECT_TRUE(free_for_reading());
    EXPECT_FALSE(free_for_upgradeable());
    mine().downgrade_to_shared();
    EXPECT_TRUE(free_for_upgradeable());
    EXPECT_FALSE(free_for_writing());
    mine().unlock_shared();
    EXPECT_TRUE(free_for_writing());
}

TEST_P(shared, an_unlock_in_another_way_releases_nothing) {
    std::error_code ec;
    mine().lock_shared();
    mine().unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
    mine().unlock_upgradeable(ec);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_FALSE(free_for_writing());
    EXPECT_FALSE(mine().try_lock_shared()) << "a thread has a name in one way at a time";
    mine().lock(ec);
    EXPECT_EQ(ec, errc::would_deadlock);
    mine().unlock_shared(ec);
    EXPECT_FALSE(ec);
    mine().lock();
    mine().unlock_shared(ec);
    EXPECT_EQ(ec, errc::not_owner);
    mine().unlock();
    if (keeps_locks())
        EXPECT_TRUE(eventually([this] { return free_for_writing(); })) << "it goes to who asks again";
    else
        EXPECT_TRUE(free_for_writing());
}

TEST_P(upgrades, an_upgrade_of_a_read_that_has_ended_is_told_so) {
    if (!can().leases) GTEST_SKIP() << "holds of this store do not end by time";
    shared_mutex brief{locks_, "n", {.lease = 300ms, .renew = renew::off}};
    brief.lock_upgradeable();
    std::atomic<bool> reading{false};
    std::atomic<bool> enough{false};
    std::jthread reader{[&] {
        theirs().lock_shared();
        reading = true;
        while (!enough) std::this_thread::sleep_for(1ms);
        theirs().unlock_shared();
    }};
    ASSERT_TRUE(eventually([&] { return reading.load(); }, plenty));
    std::error_code ec;
    brief.upgrade(ec);  // waits for the reader, and outlives its own lease
    EXPECT_EQ(ec, errc::lost);
    EXPECT_FALSE(brief.hold().valid());
    enough = true;
    brief.unlock_upgradeable(ec);
    EXPECT_EQ(ec, errc::lost);
    reader.join();
    EXPECT_TRUE(eventually([&] { return free_for_writing(); }, plenty));
}

TEST_P(shared, names_of_another_kind_are_refused) {
    mutex plain{others_, "n"};
    mine().lock_shared();
    std::error_code ec;
    EXPECT_FALSE(plain.try_lock(ec));
    EXPECT_EQ(ec, errc::kind_mismatch);
    mine().unlock_shared();
}

TEST_P(upgrades, nobody_is_beside_a_writer_in_a_storm_of_all_ways) {
    constexpr int threads = 6;
    const std::uint64_t times = rounds(400);
    std::atomic<int> readers{0};
    std::atomic<int> upgradeable{0};
    std::atomic<int> writers{0};
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> last_write{0};
    const auto check = [&](bool good) { wrong += good ? 0 : 1; };
    const auto write = [&](shared_mutex& lock) {
        check(++writers == 1 && readers == 0 && upgradeable == 0);
        const token its = token_of(lock.hold());
        check(!can().tokens || its.value() > last_write.exchange(its.value()));
        --writers;
    };
    std::vector<std::jthread> crew;
    for (int i = 0; i < threads; ++i)
        crew.emplace_back([&, i] {
            shared_mutex lock{i % 2 == 0 ? locks_ : others_, "n"};
            for (std::uint64_t n = 0; n < times; ++n) {
                switch ((n * 7 + static_cast<std::uint64_t>(i)) % 5) {
                    case 0:
                        lock.lock();
                        write(lock);
                        lock.unlock();
                        break;
                    case 1:
                        lock.lock_upgradeable();
                        check(++upgradeable == 1 && writers == 0);
                        --upgradeable;
                        lock.upgrade();
                        write(lock);
                        lock.downgrade_to_shared();
                        ++readers;
                        check(writers == 0);
                        --readers;
                        lock.unlock_shared();
                        break;
                    case 2: {
                        // On a busy machine the store may not have been heard of: no error is thrown for that.
                        attempt brief = lock.try_acquire_shared({.wait = 1ms});
                        if (!brief) break;
                        ++readers;
                        check(writers == 0);
                        --readers;
                        brief->release();
                        break;
                    }
                    default:
                        lock.lock_shared();
                        ++readers;
                        check(writers == 0);
                        --readers;
                        lock.unlock_shared();
                }
            }
        });
    crew.clear();
    EXPECT_EQ(wrong, 0);
    // Who gave up waiting does not wait until its claim has left.
    EXPECT_TRUE(eventually([&] { return free_for_writing(); }, plenty));
}

}  // namespace
}  // namespace mortise::testing
