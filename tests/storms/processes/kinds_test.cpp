// Every kind between processes: nobody is beside somebody it excludes, tokens rise, claims are served in order, nobody waits
// for the dead, and nothing is left.
#include "storms/processes/kind_storm.hpp"
#include "support/miserly_store.hpp"

#include <algorithm>

namespace mortise::testing {
namespace {

class kinds_storm : public kind_storm {
protected:
    // Of the operations of all lanes, the least that a writer did; 1 is the mean.
    double least_share_of_a_writer() const {
        std::uint64_t least = ~std::uint64_t{0};
        for (std::size_t lane = 0; lane < kind_page::lanes; ++lane)
            if (stream_user::writes(lane)) least = std::min<std::uint64_t>(least, page_->all[lane].operations);
        return static_cast<double>(least * kind_page::lanes) / static_cast<double>(page_->operations());
    }
    double share_beside_a_stream_of_readers(std::uint64_t quota) {
        run<stream_user>("stream_of_readers", quota, false);
        EXPECT_GT(page_->beside, page_->operations() / 4) << "no stream: readers were alone";
        const double share = least_share_of_a_writer();
        std::cout << "stream: writers_least_share=" << share << "\n";
        return share;
    }
};
EVERY_STORE_OF_PROCESSES(kinds_storm);

// Of all kinds, the one that asks most of a store.
class readers_and_writers_storm : public kinds_storm {};
EVERY_QUICK_STORE_OF_PROCESSES(readers_and_writers_storm);

TEST_P(readers_and_writers_storm, shared_mutex_in_every_way) {
    run<shared_mutex_user>("shared_mutex", at_length(1'000'000));
    EXPECT_GT(page_->beside, 0u);
    expect_clean_end();
}

TEST_P(kinds_storm, counting_semaphore_with_weights) {
    run<semaphore_user>("counting_semaphore", at_length(1'000'000));
    EXPECT_GT(page_->beside, 0u);
    expect_clean_end();
}

TEST_P(kinds_storm, multi_lock_of_crossed_names) {
    run<multi_lock_user>("multi_lock", at_length(1'000'000));
    expect_clean_end();
}

TEST_P(kinds_storm, recursive_mutex_nested) {
    run<recursive_mutex_user>("recursive_mutex", at_length(1'000'000));
    expect_clean_end();
}

TEST_P(kinds_storm, readers_and_writers_are_served_in_order) {
    noted_ = true;
    run<shared_mutex_user>("shared_mutex_in_order", at_length(200'000), false);
    const queue_verdict found = order_of_claims(in_order::those_that_exclude_each_other);
    EXPECT_EQ(found.inversions.size(), 0u);
    EXPECT_GT(found.contested, 0u);
    expect_clean_end();
}

TEST_P(kinds_storm, big_and_small_requests_are_served_in_order) {
    noted_ = true;
    run<semaphore_user>("counting_semaphore_in_order", at_length(200'000), false);
    const queue_verdict found = order_of_claims(in_order::all);
    EXPECT_EQ(found.inversions.size(), 0u);
    EXPECT_GT(found.contested, 0u);
    expect_clean_end();
}

TEST_P(kinds_storm, a_stream_of_readers_does_not_starve_writers) {
    EXPECT_GE(share_beside_a_stream_of_readers(at_length(100'000)), 0.3);
    expect_clean_end();
}

// The judges see what is wrong. Processes that share names but no store:
class kinds_specimen : public kinds_storm {
protected:
    template <class User>
    void expect_overlaps() {
        url_ = "memory:";
        User::set(*page_);
        for (std::size_t p = 0; p < 2; ++p) hire<User>(p);
        EXPECT_TRUE(eventually([&] { return page_->overlaps > 0 && page_->disorders > 0; }, 60s))
            << "overlaps=" << page_->overlaps << " token_disorders=" << page_->disorders;
        leave();
    }
};
SPECIMENS_OF_PROCESSES(kinds_specimen);

TEST_P(kinds_specimen, shared_mutexes_of_two_stores_are_convicted) {
    expect_overlaps<shared_mutex_user>();
}
TEST_P(kinds_specimen, semaphores_of_two_stores_are_convicted) {
    expect_overlaps<semaphore_user>();
}
TEST_P(kinds_specimen, multi_locks_of_two_stores_are_convicted) {
    expect_overlaps<multi_lock_user>();
}
TEST_P(kinds_specimen, recursive_mutexes_of_two_stores_are_convicted) {
    expect_overlaps<recursive_mutex_user>();
}

TEST_P(kinds_specimen, a_store_that_mixes_up_its_line_is_convicted) {
    noted_ = true;
    wrap_ = by<hasty_store>();
    run<semaphore_user>("specimen", 500, false);
    EXPECT_GT(order_of_claims(in_order::all).inversions.size(), 0u);
}

TEST_P(kinds_specimen, a_store_that_lets_readers_pass_is_convicted) {
    wrap_ = by<shy_store>();
    page_->patience = 200ms;  // a writer may never get in
    stream_user::set(*page_);
    for (std::size_t p = 0; p < kind_page::processes; ++p) hire<stream_user>(p);
    EXPECT_TRUE(eventually([&] { return page_->operations() > 2000 && page_->stuck > 0; }, 60s));
    leave();
    std::cout << "specimen: writers_least_share=" << least_share_of_a_writer() << " stuck=" << page_->stuck << "\n";
    EXPECT_LT(least_share_of_a_writer(), 0.3);
}

TEST_P(kinds_specimen, a_store_that_keeps_what_was_released_is_convicted) {
    if (GetParam().fixture == nullptr) GTEST_SKIP() << "a store elsewhere cannot be audited";
    wrap_ = by<miserly_store>();
    page_->patience = 200ms;
    recursive_mutex_user::set(*page_);
    for (std::size_t p = 0; p < 2; ++p) hire<recursive_mutex_user>(p);
    EXPECT_TRUE(eventually([&] { return page_->operations() > 0 && page_->stuck > 0; }, 60s));
    const audit_verdict found = audited();
    std::cout << "specimen: orphans=" << found.orphans.size() << " idle=" << found.idle.size() << "\n";
    EXPECT_GE(found.orphans.size(), 1u) << found.describe();
    EXPECT_EQ(found.idle.size(), 1u) << found.describe();
    leave();
}

}  // namespace
}  // namespace mortise::testing
