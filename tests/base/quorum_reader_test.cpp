// Callers that wait for several stores read for these, one at a time for all.
#include "base/quorum_reader.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::base {
namespace {

// A node whose answers come through a pipe: each byte answers one caller, in the order in which they asked.
class piped_node final : public spi::store {
public:
    piped_node() {
        if (::pipe(ends_) != 0) ends_[0] = ends_[1] = -1;
    }
    ~piped_node() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    void say() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

    int start_reading(const spi::sleeper& who) override {
        const spi::sleeper* nobody = nullptr;
        return reader_.compare_exchange_strong(nobody, &who) ? ends_[0] : -1;
    }
    bool read_ready(const spi::sleeper& who) override {
        EXPECT_EQ(reader_, &who);
        char byte = 0;
        EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
        if (heard) heard();
        return true;
    }
    void stop_reading(const spi::sleeper& who, bool soon) noexcept override {
        EXPECT_EQ(reader_, &who);
        calm = soon;
        reader_ = nullptr;
    }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override {}
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override {}
    void release(std::string_view, const claim_id&, spi::reply<spi::release_answer>) override {}
    void list(spi::reply<spi::listing>) override {}
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override {}
    void close() noexcept override {}

    std::function<void()> heard{};
    std::atomic<bool> calm{false};

private:
    int ends_[2]{};
    std::atomic<const spi::sleeper*> reader_{nullptr};
    mortise::promises promises_{};
};

class quorum_readers : public ::testing::Test {
protected:
    piped_node nodes[3];
    bool calm = true;
    quorum_reader reader{{&nodes[0], &nodes[1], &nodes[2]}, [this] { return calm; }};
};

TEST_F(quorum_readers, a_caller_reads_until_it_is_answered) {
    spi::sleeper who;
    int heard = 0;
    std::thread::id by{};
    for (piped_node& one : nodes)
        one.heard = [&] {
            by = std::this_thread::get_id();
            if (++heard == 2) reader.wake(who);
        };
    nodes[2].say();
    std::thread later{[&] { nodes[0].say(); }};
    reader.sleep(who);
    later.join();
    EXPECT_EQ(heard, 2);
    EXPECT_EQ(by, std::this_thread::get_id());
    EXPECT_TRUE(nodes[1].calm) << "what the third says is not urgent";
}

TEST_F(quorum_readers, what_others_wait_for_is_urgent_when_a_caller_leaves) {
    spi::sleeper who;
    calm = false;
    nodes[0].heard = [&] { reader.wake(who); };
    nodes[0].say();
    reader.sleep(who);
    EXPECT_FALSE(nodes[1].calm);
}

TEST_F(quorum_readers, another_thread_can_answer_who_reads) {
    spi::sleeper who;
    std::thread other{[&] { reader.wake(who); }};
    reader.sleep(who);
    other.join();
    EXPECT_EQ(who.is, spi::sleeper::answered);
}

TEST_F(quorum_readers, who_follows_reads_when_who_leads_has_its_answer) {
    constexpr int callers = 4;
    std::vector<std::unique_ptr<spi::sleeper>> all;
    for (int i = 0; i < callers; ++i) all.push_back(std::make_unique<spi::sleeper>());
    std::atomic<int> answered{0};
    for (piped_node& one : nodes)
        one.heard = [&] {
            if (const int next = answered++; next < callers) reader.wake(*all[static_cast<std::size_t>(next)]);
        };
    std::vector<std::jthread> threads;
    for (const auto& one : all) threads.emplace_back([&] { reader.sleep(*one); });
    for (int i = 0; i < callers; ++i) nodes[i % 3].say();
    threads.clear();
    EXPECT_EQ(answered, callers);
}

}  // namespace
}  // namespace mortise::base
