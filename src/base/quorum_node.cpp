#include "base/quorum_node.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::base {
namespace {

using std::chrono::milliseconds;

// A node that is away for long: its locks end with their leases.
constexpr std::size_t most_leftovers = 10'000;

constexpr spi::duration first_repeat = milliseconds{100};
constexpr spi::duration longest_repeat = milliseconds{1600};

}  // namespace

quorum_node::quorum_node(const spi::quorum_node& which, const spi::context& outer, spi::duration settle)
    : name_(which.name),
      outer_(outer),
      settle_(settle),
      store_(which.make(spi::context{outer.clock, *this, outer.host, outer.pid, outer.strict})) {}

void quorum_node::claim(const spi::claim_request& wanted, spi::reply<node_vote> done) {
    store_->claim(wanted, [this, done = std::move(done)](spi::claim_answer answer) mutable {
        using verdict = spi::claim_answer::verdict;
        node_vote vote{.free_in = answer.standing.free_in, .reason = answer.reason, .why = std::move(answer.detail)};
        switch (answer.is) {
            case verdict::granted:
                return judge(std::move(done), answer.grant.counter);
            case verdict::busy:
            case verdict::queued:
                vote.is = ballot::busy;
                vote.why = "held by another";
                break;
            case verdict::refused:
                vote.is = ballot::refused;
                break;
            case verdict::unknown:
                vote.is = answer.unreached ? ballot::unreached : ballot::failed;
                break;
        }
        if (vote.why.empty()) vote.why = vote.reason ? vote.reason.message() : "did not answer";
        done(std::move(vote));
    });
    if (settle_ > spi::duration::zero()) ask_uptime();
}

void quorum_node::judge(spi::reply<node_vote> done, std::uint64_t counter) {
    std::optional<node_vote> vote;
    {
        std::scoped_lock guard{mutex_};
        vote = vote_by_uptime();
        if (!vote) undecided_.push_back({std::move(done), counter});
    }
    if (vote) {
        vote->counter = counter;
        done(*std::move(vote));
    } else {
        ask_uptime();
    }
}

std::optional<node_vote> quorum_node::vote_by_uptime() const {
    node_vote vote{.is = ballot::granted, .free_in = spi::duration::zero()};
    if (settle_ == spi::duration::zero()) return vote;
    if (!running_since_) return std::nullopt;
    const spi::duration up = outer_.clock.now() - *running_since_;
    if (up >= settle_) return vote;
    vote.is = ballot::abstained;
    vote.free_in = settle_ - up;
    vote.why = "started " + readable(up) + " ago and does not vote before " + readable(settle_) + " (settle)";
    return vote;
}

void quorum_node::ask_uptime() {
    std::uint64_t asked_in = 0;
    {
        std::scoped_lock guard{mutex_};
        if (running_since_ || asking_) return;
        asking_ = true;
        asked_in = connections_;
    }
    store_->uptime([this, asked_in](std::optional<spi::duration> up) { note_uptime(asked_in, up); });
}

// Counted from now, when it is at least so old.
void quorum_node::note_uptime(std::uint64_t asked_in, std::optional<spi::duration> up) {
    std::vector<undecided_grant> waiting;
    node_vote vote{
        .is = ballot::abstained,
        .why = "does not say for how long it has been running, which settle needs (on Redis, the right +info)"};
    bool again = false;
    {
        std::scoped_lock guard{mutex_};
        asking_ = false;
        if (asked_in != connections_) {
            again = !undecided_.empty();
        } else {
            if (up) {
                running_since_ = outer_.clock.now() - *up;
                vote = *vote_by_uptime();
            }
            waiting.swap(undecided_);
        }
    }
    if (again) return ask_uptime();
    for (undecided_grant& one : waiting) {
        vote.counter = one.counter;
        one.done(vote);
    }
}

void quorum_node::give_back(std::string_view name, const claim_id& value, spi::time_point until) {
    leftover left{std::string(name), value, until};
    store_->release(name, value, [this, left = std::move(left)](spi::release_answer answer) mutable {
        if (answer != spi::release_answer::unknown || outer_.clock.now() >= left.until) return;
        {
            std::scoped_lock guard{mutex_};
            if (leftovers_.size() == most_leftovers) leftovers_.pop_front();
            leftovers_.push_back(std::move(left));
        }
        repeat_later();
    });
}

void quorum_node::repeat_later() {
    std::weak_ptr<int> open;
    spi::duration pause{};
    {
        std::scoped_lock guard{mutex_};
        if (leftovers_.empty() || std::exchange(repeat_due_, true)) return;
        pause = std::min(first_repeat * (1 << std::min(repeats_++, 4u)), longest_repeat);
        open = open_;
    }
    outer_.clock.at(outer_.clock.now() + pause, [this, open] {
        if (open.lock()) repeat();
    });
}

void quorum_node::repeat() {
    std::deque<leftover> again;
    {
        std::scoped_lock guard{mutex_};
        repeat_due_ = false;
        again.swap(leftovers_);
    }
    const spi::time_point now = outer_.clock.now();
    for (const leftover& one : again)
        if (now < one.until) give_back(one.name, one.value, one.until);
}

// Nothing queues.
void quorum_node::granted(std::string_view name, const claim_id& value, const spi::grant& given) {
    give_back(name, value, outer_.clock.now() + given.lease.value_or(spi::duration::zero()));
}

// A majority decides what it means: all holds are renewed.
void quorum_node::lost(std::string_view, const claim_id&) {
    outer_.events.reconnected();
}

void quorum_node::reconnected() {
    {
        std::scoped_lock guard{mutex_};
        ++connections_;
        running_since_.reset();
        repeats_ = 0;
    }
    outer_.events.reconnected();
}

void quorum_node::close() noexcept {
    {
        std::scoped_lock guard{mutex_};
        open_.reset();
    }
    store_->close();
}

}  // namespace mortise::inline v0::base
