// Rivals of a quorum in a simulated network: none has to wait for long, however many split the votes.
#include "base/split_retries.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;
using result = quorum_vote::result;

quorum_vote vote_of(std::size_t granted, std::size_t busy) {
    quorum_vote vote{{.nodes = granted + busy, .lease = 30s, .node_timeout = 500ms}, spi::time_point{}};
    for (std::size_t i = 0; i < granted + busy; ++i)
        vote.cast(i, i < granted ? ballot::granted : ballot::busy, spi::time_point{1ms});
    return vote;
}

TEST(split_retries, are_made_only_by_who_got_a_vote) {
    EXPECT_TRUE(split_retries{}.pause(vote_of(2, 3), 1ms, 0.5));
    EXPECT_FALSE(split_retries{}.pause(vote_of(0, 5), 1ms, 0.5)) << "somebody has it";
    EXPECT_FALSE(split_retries{}.pause(vote_of(3, 2), 1ms, 0.5)) << "it is granted";
}

TEST(split_retries, wait_longer_each_time_by_chance_and_come_to_an_end) {
    split_retries retries;
    spi::duration last{};
    for (unsigned i = 0; i < split_retries::most; ++i) {
        const auto pause = retries.pause(vote_of(1, 2), 1ms, 0.5);
        ASSERT_TRUE(pause);
        EXPECT_GT(*pause, last);
        last = *pause;
    }
    EXPECT_FALSE(retries.pause(vote_of(1, 2), 1ms, 0.5));
    EXPECT_LE(last, 100ms);
    EXPECT_EQ(split_retries{}.pause(vote_of(1, 2), 1ms, 0), 0ms);
    EXPECT_LE(*split_retries{}.pause(vote_of(1, 2), 1h, 1), 100ms) << "whatever a round takes";
}

// N clients that want one lock again and again. Requests of one client to one node arrive in order.
class rivalry {
public:
    rivalry(std::size_t rivals, std::size_t nodes, bool retried, std::uint64_t seed)
        : retried_(retried), random_(seed), nodes_(nodes), clients_(rivals) {
        for (client& one : clients_) one.links.resize(nodes);
    }

    void run(spi::duration time) {
        for (client& one : clients_) at(some(1ms), [this, &one] { want(one); });
        while (!agenda_.empty() && agenda_.begin()->first < spi::time_point{time}) {
            now_ = agenda_.begin()->first;
            const std::function<void()> next = std::move(agenda_.begin()->second);
            agenda_.erase(agenda_.begin());
            next();
        }
    }

    std::size_t grants() const {
        std::size_t all = 0;
        for (const client& one : clients_) all += one.grants;
        return all;
    }
    std::size_t fewest() const {
        return std::min_element(clients_.begin(), clients_.end(),
                                [](const client& a, const client& b) { return a.grants < b.grants; })
            ->grants;
    }
    spi::duration longest_wait() const {
        spi::duration longest{};
        for (const client& one : clients_) longest = std::max({longest, one.longest, now_ - one.since});
        return longest;
    }
    int overlaps = 0;

private:
    struct client {
        std::vector<spi::time_point> links{};  // when the latest request arrives
        int value = 0;                         // of this attempt
        std::unique_ptr<quorum_vote> vote{};
        split_retries retries{};
        unsigned polls = 0;
        spi::time_point since{};
        std::size_t grants = 0;
        spi::duration longest{};
    };

    double chance() { return std::uniform_real_distribution<double>{0, 1}(random_); }
    spi::duration some(spi::duration most) {
        return std::chrono::duration_cast<spi::duration>(static_cast<double>(most.count()) * chance() * 1ns);
    }
    void at(spi::duration later, std::function<void()> what) { agenda_.emplace(now_ + later, std::move(what)); }
    // Calls it at the node.
    void send(client& from, std::size_t node, std::function<void()> what) {
        spi::time_point& last = from.links[node];
        last = std::max(last + 1us, now_ + 50us + some(100us));
        agenda_.emplace(last, std::move(what));
    }

    void want(client& one) {
        one.since = now_;
        one.polls = 0;
        ask(one, {});
    }
    void ask(client& one, split_retries retries) {
        one.retries = retries;
        one.value = ++values_;
        one.vote = std::make_unique<quorum_vote>(
            quorum_vote::rules{.nodes = nodes_.size(), .lease = 30s, .node_timeout = 500ms}, now_);
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            send(one, n, [this, &one, n, value = one.value] {
                const bool free = nodes_[n] == 0;
                if (free) nodes_[n] = value;
                at(50us + some(100us), [this, &one, n, value, free] {
                    if (one.value == value) answered(one, n, free ? ballot::granted : ballot::busy);
                });
            });
    }
    void answered(client& one, std::size_t node, ballot is) {
        if (one.vote->is() != result::open || one.vote->cast(node, is, now_) == result::open) return;
        if (one.vote->is() == result::granted) {
            if (inside_++ != 0) ++overlaps;
            ++one.grants;
            one.longest = std::max(one.longest, now_ - one.since);
            return at(some(500us), [this, &one] {
                --inside_;
                release(one);
                at(some(5ms), [this, &one] { want(one); });
            });
        }
        release(one);
        const auto soon = one.retries.pause(*one.vote, now_ - one.vote->started(), chance());
        if (retried_ && soon) return at(*soon, [this, &one] { ask(one, one.retries); });
        // As core/request_pace.cpp polls.
        const spi::duration step = std::min<spi::duration>(25ms * (1 << std::min(one.polls++, 10u)), 200ms);
        at(step - some(step / 5), [this, &one] { ask(one, {}); });
    }
    void release(client& one) {
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            send(one, n, [this, n, value = one.value] {
                if (nodes_[n] == value) nodes_[n] = 0;
            });
    }

    const bool retried_;
    std::mt19937_64 random_;
    spi::time_point now_{};
    std::multimap<spi::time_point, std::function<void()>> agenda_;
    std::vector<int> nodes_;  // whose value they have
    std::vector<client> clients_;
    int values_ = 0;
    int inside_ = 0;
};

TEST(split_retries, let_all_rivals_make_progress) {
    std::size_t grants = 0;
    std::size_t grants_without = 0;
    for (const std::size_t nodes : {3u, 5u})
        for (const std::size_t rivals : {2u, 3u, 8u, 32u}) {
            SCOPED_TRACE(std::to_string(rivals) + " rivals, " + std::to_string(nodes) + " nodes");
            rivalry all{rivals, nodes, true, 7 * nodes + rivals};
            all.run(5s);
            EXPECT_EQ(all.overlaps, 0);
            EXPECT_GT(all.fewest(), 20u);
            EXPECT_LT(all.longest_wait(), 3s);
            grants += all.grants();
            rivalry without{rivals, nodes, false, 7 * nodes + rivals};
            without.run(5s);
            grants_without += without.grants();
        }
    EXPECT_GT(grants, grants_without) << "a lock that nobody has stays so for longer";
}

}  // namespace
}  // namespace mortise::base
