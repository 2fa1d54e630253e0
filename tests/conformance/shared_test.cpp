// Readers, writers, and reads that become writes.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <functional>
#include <mutex>
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
        if (!locks_.promises().upgrades) GTEST_SKIP() << "the store does not promise upgrades";
    }

    // What another thread would be told; each is an owner of its own.
    bool free_for_reading() {
        return elsewhere([&] { return reader_.try_lock_shared() && (reader_.unlock_shared(), true); });
    }
    bool free_for_writing() {
        return elsewhere([&] { return reader_.try_lock() && (reader_.unlock(), true); });
    }
    bool free_for_upgradeable() {
        return elsewhere([&] { return reader_.try_lock_upgradeable() && (reader_.unlock_upgradeable(), true); });
    }
    static bool elsewhere(const std::function<bool()>& asks) {
        bool answer = false;
        std::thread{[&] { answer = asks(); }}.join();
        return answer;
    }

    // Waits in the queue for a write, and says when it has it.
    struct writer {
        std::atomic<bool> in{false};
        std::atomic<bool> leave{false};
        std::jthread thread;

        explicit writer(shared_mutex& lock)
            : thread([this, &lock] {
                  lock.lock();
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
    shared_mutex mine_{locks_, "n"};
    shared_mutex reader_{others_, "n"};
};
EVERY_STORE(shared);

TEST_P(shared, readers_go_together_and_a_writer_alone) {
    {
        std::shared_lock reading{mine_};
        EXPECT_TRUE(mine_.hold().valid());
        EXPECT_TRUE(free_for_reading());
        EXPECT_TRUE(free_for_upgradeable());
        EXPECT_FALSE(free_for_writing());
    }
    {
        std::unique_lock writing{mine_};
        EXPECT_FALSE(free_for_reading());
        EXPECT_FALSE(free_for_upgradeable());
        EXPECT_FALSE(free_for_writing());
    }
    EXPECT_TRUE(free_for_writing());
}

TEST_P(shared, a_waiting_writer_goes_before_later_readers) {
    mine_.lock_shared();
    writer waits{reader_};
    ASSERT_TRUE(somebody_waits());
    EXPECT_FALSE(
        elsewhere([&] { return answer_to(20ms, [&](auto wait) { return mine_.try_lock_shared_for(wait); }); }));
    EXPECT_FALSE(waits.in);
    mine_.unlock_shared();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(shared, a_stream_of_readers_does_not_starve_a_writer) {
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
        ASSERT_TRUE(mine_.try_lock_for(plenty));
        EXPECT_EQ(inside, 0);
        mine_.unlock();
    }
    over = true;
}

TEST_P(shared, there_is_one_upgradeable_read_at_a_time) {
    mine_.lock_upgradeable();
    EXPECT_TRUE(free_for_reading());
    EXPECT_FALSE(free_for_upgradeable());
    EXPECT_FALSE(free_for_writing());
    mine_.unlock_upgradeable();
    EXPECT_TRUE(free_for_upgradeable());
}

TEST_P(shared, an_upgrade_waits_for_the_readers_inside_and_nobody_comes_between) {
    mine_.lock_upgradeable();
    const token before = mine_.hold().token();
    std::atomic<bool> reading{false};
    std::atomic<bool> enough{false};
    std::jthread reader{[&] {
        reader_.lock_shared();
        reading = true;
        while (!enough) std::this_thread::sleep_for(1ms);
        reader_.unlock_shared();
    }};
    ASSERT_TRUE(eventually([&] { return reading.load(); }, plenty));
    EXPECT_FALSE(mine_.try_upgrade());
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) { return mine_.try_upgrade_for(wait); }));
    EXPECT_TRUE(mine_.hold().valid()) << "what fails leaves the read as it was";
    EXPECT_EQ(mine_.hold().token(), before);

    shared_mutex third{others_, "n"};
    writer waits{third};  // it came before the upgrade
    ASSERT_TRUE(somebody_waits());
    std::jthread later{[&] {
        std::this_thread::sleep_for(20ms);
        enough = true;
    }};
    mine_.upgrade();
    EXPECT_FALSE(waits.in) << "an upgrade goes before everybody who waits";
    EXPECT_GT(mine_.hold().token(), before);
    EXPECT_FALSE(free_for_reading());
    mine_.unlock();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(shared, a_plain_read_cannot_be_upgraded_and_says_why) {
    mine_.lock_shared();
    for (const bool tries : {true, false}) {
        try {
            if (tries) {
                static_cast<void>(mine_.try_upgrade());
            } else {
                mine_.upgrade();
            }
            ADD_FAILURE();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::would_deadlock);
            EXPECT_NE(std::string(e.what()).find("lock_upgradeable"), std::string::npos) << e.what();
        }
    }
    std::error_code ec;
    EXPECT_FALSE(mine_.try_upgrade(ec));
    EXPECT_EQ(ec, errc::would_deadlock);
    EXPECT_TRUE(mine_.hold().valid());
    mine_.unlock_shared();
    mine_.upgrade(ec);
    EXPECT_EQ(ec, errc::not_owner);
}

TEST_P(shared, a_write_becomes_a_read_without_letting_a_writer_in) {
    mine_.lock();
    const token first = mine_.hold().token();
    writer waits{reader_};
    ASSERT_TRUE(eventually([&] { return !elsewhere([&] { return reader_.try_lock_shared(); }); }, plenty));
    mine_.downgrade();
    EXPECT_GT(mine_.hold().token(), first);
    EXPECT_TRUE(mine_.hold().valid());
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(waits.in);
    mine_.upgrade();
    mine_.downgrade_to_shared();
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(waits.in);
    mine_.unlock_shared();
    EXPECT_TRUE(eventually([&] { return waits.in.load(); }, plenty));
}

TEST_P(shared, a_downgrade_lets_in_what_fits) {
    mine_.lock();
    mine_.downgrade();
    EXPECT_TRUE(free_for_reading());
    EXPECT_FALSE(free_for_upgradeable());
    mine_.downgrade_to_shared();
    EXPECT_TRUE(free_for_upgradeable());
    EXPECT_FALSE(free_for_writing());
    mine_.unlock_shared();
    EXPECT_TRUE(free_for_writing());
}

TEST_P(shared, an_unlock_in_another_way_releases_nothing) {
    std::error_code ec;
    mine_.lock_shared();
    mine_.unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
    mine_.unlock_upgradeable(ec);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_FALSE(free_for_writing());
    EXPECT_FALSE(mine_.try_lock_shared()) << "a thread has a name in one way at a time";
    mine_.lock(ec);
    EXPECT_EQ(ec, errc::would_deadlock);
    mine_.unlock_shared(ec);
    EXPECT_FALSE(ec);
    mine_.lock();
    mine_.unlock_shared(ec);
    EXPECT_EQ(ec, errc::not_owner);
    mine_.unlock();
    EXPECT_TRUE(free_for_writing());
}

TEST_P(shared, an_upgrade_of_a_read_that_has_ended_is_told_so) {
    shared_mutex brief{locks_, "n", {.lease = 300ms, .renew = renew::off}};
    brief.lock_upgradeable();
    std::atomic<bool> reading{false};
    std::atomic<bool> enough{false};
    std::jthread reader{[&] {
        reader_.lock_shared();
        reading = true;
        while (!enough) std::this_thread::sleep_for(1ms);
        reader_.unlock_shared();
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
    mine_.lock_shared();
    std::error_code ec;
    EXPECT_FALSE(plain.try_lock(ec));
    EXPECT_EQ(ec, errc::kind_mismatch);
    mine_.unlock_shared();
}

TEST_P(shared, nobody_is_beside_a_writer_in_a_storm_of_all_ways) {
    constexpr int threads = 6;
    const std::uint64_t rounds = scale(400);
    std::atomic<int> readers{0};
    std::atomic<int> upgradeable{0};
    std::atomic<int> writers{0};
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> last_write{0};
    const auto check = [&](bool good) { wrong += good ? 0 : 1; };
    const auto write = [&](shared_mutex& lock) {
        check(++writers == 1 && readers == 0 && upgradeable == 0);
        check(lock.hold().token().value() > last_write.exchange(lock.hold().token().value()));
        --writers;
    };
    std::vector<std::jthread> crew;
    for (int i = 0; i < threads; ++i)
        crew.emplace_back([&, i] {
            shared_mutex lock{i % 2 == 0 ? locks_ : others_, "n"};
            for (std::uint64_t n = 0; n < rounds; ++n) {
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
