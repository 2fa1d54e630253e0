// P4, C10: a thread that locks what it holds already gets in if the lock is re-entrant, and a clear no if it is not.
#include "conformance/suite.hpp"

#include <mortise/error.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class nesting : public lock_suite {
protected:
    // Seen from another client, which no frame of ours helps.
    bool is_free(client& others) const { return make_lock(others, "n")->try_lock(); }

    // Method A locks and calls method B, which locks the same name through an object of its own.
    std::error_code method_b(client& locks) const {
        const auto inner = make_lock(locks, "n");
        std::error_code ec;
        inner->lock(ec);
        if (!ec) inner->unlock();
        return ec;
    }

    void expect_refused_in_every_form(client& locks) const;
    void expect_counted_with_one_token(client& locks) const;
};
EVERY_STORE_AND_KIND(nesting);

TEST_P(nesting, method_a_calls_method_b) {
    client locks = make_client();
    client others = make_client();
    const auto outer = make_lock(locks, "n");
    outer->lock();
    const std::error_code inner_said = method_b(locks);
    if (reentrant()) {
        EXPECT_FALSE(inner_said) << inner_said.message();
    } else {
        EXPECT_EQ(inner_said, errc::would_deadlock);
        EXPECT_EQ(inner_said, std::errc::resource_deadlock_would_occur);
    }
    EXPECT_TRUE(outer->hold().valid());
    EXPECT_FALSE(is_free(others)) << "the inner method must not free what the outer one holds";
    outer->unlock();
    EXPECT_TRUE(gets_what_was_unlocked([&] { return is_free(others); }));
}

void nesting::expect_refused_in_every_form(client& locks) const {
    const auto lock = make_lock(locks, "n");
    const auto same_name = make_lock(locks, "n");
    lock->lock();
    const token before = token_of(lock->hold());
    for (lock_driver* again : {lock.get(), same_name.get()}) {
        EXPECT_FALSE(again->try_lock());
        EXPECT_FALSE(again->try_lock_for(plenty)) << "and it does not wait for itself";
        std::error_code ec;
        again->lock(ec);
        EXPECT_EQ(ec, errc::would_deadlock);
        try {
            again->lock();
            ADD_FAILURE() << "locked twice";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::would_deadlock);
            EXPECT_NE(std::string(e.what()).find("recursive_mutex"), std::string::npos) << e.what();
        }
    }
    EXPECT_EQ(token_of(lock->hold()), before);
    lock->unlock();
    EXPECT_TRUE(lock->try_lock());
}

void nesting::expect_counted_with_one_token(client& locks) const {
    client others = make_client();
    const auto lock = make_lock(locks, "n");
    const auto same_name = make_lock(locks, "n");
    lock->lock();
    const token outer = token_of(lock->hold());
    ASSERT_TRUE(lock->try_lock());
    ASSERT_TRUE(same_name->try_lock_for(1ms));
    same_name->lock();
    EXPECT_EQ(token_of(same_name->hold()), outer) << "an inner frame must not fence off an outer one";
    for (lock_driver* one : {same_name.get(), lock.get(), same_name.get()}) {
        one->unlock();
        EXPECT_TRUE(lock->hold().valid());
        EXPECT_EQ(token_of(lock->hold()), outer);
        EXPECT_FALSE(is_free(others));
    }
    lock->unlock();
    EXPECT_THROW(static_cast<void>(lock->hold()), error);
    EXPECT_TRUE(gets_what_was_unlocked([&] { return is_free(others); }));
}

TEST_P(nesting, is_counted_or_refused_in_every_form) {
    client locks = make_client();
    if (reentrant()) {
        expect_counted_with_one_token(locks);
    } else {
        expect_refused_in_every_form(locks);
    }
}

TEST_P(nesting, is_a_matter_of_one_thread) {
    client locks = make_client();
    const auto lock = make_lock(locks, "n");
    lock->lock();
    std::thread{[&] {
        EXPECT_FALSE(lock->try_lock());
        EXPECT_THROW(static_cast<void>(lock->hold()), error);
        std::error_code ec;
        lock->unlock(ec);
        EXPECT_EQ(ec, errc::not_owner);
    }}.join();
    EXPECT_TRUE(lock->hold().valid());
    lock->unlock();
}

TEST_P(nesting, is_a_matter_of_one_client) {
    client locks = make_client();
    client others = make_client();
    const auto mine = make_lock(locks, "n");
    const auto theirs = make_lock(others, "n");
    mine->lock();
    EXPECT_FALSE(theirs->try_lock());
    EXPECT_FALSE(answer_to(50ms, [&](auto wait) { return theirs->try_lock_for(wait); }));
    std::error_code ec;
    theirs->unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_TRUE(mine->hold().valid());
    mine->unlock();
    EXPECT_TRUE(theirs->try_lock_for(plenty)) << "its own wait of before may still be on its way out of the line";
}

TEST_P(nesting, other_names_are_none_of_its_business) {
    client locks = make_client();
    const auto one = make_lock(locks, "one");
    const auto two = make_lock(locks, "two");
    one->lock();
    two->lock();
    EXPECT_NE(one->hold().name(), two->hold().name());
    one->unlock();
    EXPECT_TRUE(two->hold().valid());
    two->unlock();
}

}  // namespace
}  // namespace mortise::testing
