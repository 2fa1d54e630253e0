// The state of one name, and every way it can change.
//
// This is the machine behind `memory:`, and the model other stores are tested against. It is pure: no clock, no thread,
// no map of names, no I/O. Each call is given the instant it happens at, and says in `effects` who has to be told.
//
//   - Weights that fit are granted, first come, first served. A big claim at the head blocks smaller ones behind it.
//   - The counter of each grant is max(last + 1, wall time in us): it rises within one life of the state by the first
//     part, and over a lost state by the second.
//   - Ids that ended are remembered for a while, so a repeated release gets its first answer and a claim that arrives
//     after its own release is not granted.
//
// To extend: a new verb is a member that first calls settle(), then changes holders_ or the queue, then grants.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::base {

struct instant {
    spi::time_point now;
    std::uint64_t wall_us = 0;  // for tokens only; nothing else reads a wall clock

    static instant at(spi::time_point now);  // with the wall clock as it is
};

// Where a claim came from, for whoever finds the lock taken; shared by all claims of a client.
struct whereabouts {
    std::string host;
    std::int64_t pid = 0;
};

// A claim as the state keeps it. `session` is whoever has to be told, and who takes its claims along when it goes.
struct kept_claim {
    claim_id id{};
    std::uint64_t session = 0;
    std::uint32_t weight = 1;
    bool detached = false;
    std::optional<spi::duration> lease{};
    std::shared_ptr<const whereabouts> from{};
    std::string label{};

    // Once granted.
    std::uint64_t counter = 0;
    spi::time_point since{};
    spi::time_point ends = spi::time_point::max();

    static kept_claim of(const spi::claim_request& wanted, std::uint64_t session,
                         std::shared_ptr<const whereabouts> from);

    // The grant or its latest renewal.
    spi::time_point counted_from() const noexcept { return lease ? ends - *lease : since; }
    mortise::holder describe(spi::time_point now) const;
};

struct effects {
    struct notice {
        std::uint64_t session;
        claim_id id;
        spi::grant grant;
    };
    std::vector<notice> granted;  // queued claims whose turn has come
    std::vector<notice> lost;     // holds that were broken
};

class lock_state {
public:
    // `floor`: counters of this state are larger.
    explicit lock_state(std::uint64_t floor = 0) : last_(floor) {}

    struct verdict {
        spi::claim_answer::verdict is = spi::claim_answer::verdict::unknown;
        errc reason{};                   // when refused
        spi::grant grant{};              // when granted
        const kept_claim* in_the_way{};  // when busy or queued; good until the next call
        std::size_t place = 0;           // when queued
        std::optional<spi::duration> free_in{};
        std::uint32_t capacity = 0;  // of the name, as it is in use

        spi::claim_answer answer(const spi::claim_request& wanted, spi::time_point now) const;
    };
    verdict claim(kept_claim wanted, std::uint32_t capacity, bool queue, instant at, effects& out);

    spi::renewal_answer renew(const claim_id&, spi::duration lease, instant at, effects& out);
    // By whichever session; if it is not the holder's own, the holder is told that it lost.
    spi::release_answer release(const claim_id&, std::uint64_t by, instant at, effects& out);
    bool break_hold(std::uint64_t counter, instant at, effects& out);

    // A session goes: its waiting claims leave the queue and its holds end, detached ones excepted. Nobody will ask about
    // these ids again, so none is remembered.
    void drop_session(std::uint64_t session, instant at, effects& out);

    // Ends what has expired and grants what fits. Every verb does this first.
    void settle(instant at, effects& out);

    // Holding or waiting.
    bool knows(const claim_id& id) const noexcept;

    const std::vector<kept_claim>& holders() const noexcept { return holders_; }
    std::size_t waiting() const noexcept { return queue_ ? queue_->line.size() - queue_->gaps : 0; }
    std::uint64_t first_waiting_session() const { return queue_->line.front().claim.session; }  // only if waiting() > 0
    std::uint32_t capacity() const noexcept { return capacity_; }
    std::uint64_t last_counter() const noexcept { return last_; }

    // The next instant at which settle() has something to do; max() if only a verb can change things.
    spi::time_point next_end() const noexcept { return next_end_; }

    bool idle() const noexcept { return holders_.empty() && waiting() == 0; }
    // Idle, and no id is remembered any more: the state may be forgotten but for last_counter().
    bool forgettable(spi::time_point now) const noexcept;

    // The state as bytes and back (lock_state_bytes.cpp), for stores that keep it outside of the process. Ids that are no
    // longer remembered are left out. restore() throws std::runtime_error for bytes that save() did not make.
    std::string save(spi::time_point now) const;
    static lock_state restore(std::string_view bytes);

    static constexpr spi::duration remembered_for = std::chrono::seconds{10};
    static constexpr std::size_t most_remembered = 32;

private:
    struct waiter {
        kept_claim claim;
        bool gone = false;
    };
    // First come, first served; a waiter that leaves the middle becomes a gap, so places are found in constant time.
    struct queue {
        std::deque<waiter> line;
        std::uint64_t first = 0;  // number of line.front()
        std::size_t gaps = 0;
        std::unordered_map<claim_id, std::uint64_t> numbers;

        waiter* find(const claim_id&) noexcept;
        std::size_t place_of(const claim_id&) const noexcept;
        void leave(const claim_id&);
        void trim();
    };
    struct ended {
        claim_id id;
        spi::time_point until;
        std::optional<spi::release_answer> answer;  // unset: expired, and not yet asked about
    };

    std::size_t index_of(const claim_id&) const noexcept;  // holders_.size(): not there
    spi::grant install(kept_claim wanted, instant at);
    void add_holder(kept_claim granted);
    void remove_holder(std::size_t index);
    void find_next_end() noexcept;
    void grant_next(instant at, effects& out);
    void remember(const claim_id&, std::optional<spi::release_answer>, spi::time_point now);
    ended* remembered(const claim_id&, spi::time_point now) noexcept;
    spi::release_answer stranger_answer() const noexcept;

    std::vector<kept_claim> holders_;                                     // oldest first, while they are few
    std::unique_ptr<std::unordered_map<claim_id, std::size_t>> indices_;  // into it, once they are many
    std::unique_ptr<queue> queue_;
    std::vector<ended> ended_;  // a ring once full
    std::uint64_t last_;
    std::uint64_t used_ = 0;
    spi::time_point next_end_ = spi::time_point::max();  // of many holders, not later than
    std::uint32_t capacity_ = 0;
    std::uint32_t oldest_ended_ = 0;
};

}  // namespace mortise::inline v0::base
