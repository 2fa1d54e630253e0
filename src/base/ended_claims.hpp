// Claims that have ended, remembered for a while.
//
// Requests can arrive late, twice or out of order. A release that is repeated gets its first answer, and a claim that
// arrives after its own release is not granted. Both need a memory of ids, and this is the one rule for it:
//
//   - An ended claim is remembered for `ended_claim::remembered_for`, 10 s: the default of client_options::patience,
//     after which a client gives up a request without an answer, and none arrives any more.
//   - At most the latest `Most` are remembered. A large number keeps them for the whole time on a busy lock, a small
//     one saves memory. Each user says how many it keeps, and why.
//
// stores/host keeps its own in a file, by the same rule (ledger_access::remember); Redis keeps the latest of each name
// in the name's record, without a time, because a record is written as a whole (stores/redis/record_layout.hpp).
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::base {

// An id that was in use, and what its release was answered. Plain bytes: processes share it.
struct ended_claim {
    static constexpr spi::duration remembered_for = std::chrono::seconds{10};
    static constexpr std::int64_t not_asked = -1;  // it expired, and nobody has released it

    claim_id id{};
    spi::time_point until{};
    std::int64_t answer = not_asked;

    static ended_claim at(spi::time_point now, const claim_id& id, std::optional<spi::release_answer> answer) noexcept {
        return {id, now + remembered_for, answer ? static_cast<std::int64_t>(*answer) : not_asked};
    }
};

// One thread at a time. Time must not run backwards from one call to the next.
template <std::size_t Most>
class ended_claims {
public:
    // Of the same id the latest counts. A copy, so that it may be one of these.
    void add(ended_claim ended, spi::time_point now) {
        while (count_ > 0 && (oldest().until <= now || count_ == Most)) drop_oldest();
        if (count_ == ring_.size()) grow();
        at(count_) = ended;
        if constexpr (indexed) index_.insert_or_assign(ended.id, first_ + count_);
        ++count_;
    }

    // Good until the next call. The answer may be changed.
    ended_claim* find(const claim_id& id, spi::time_point now) noexcept {
        if constexpr (indexed) {
            const auto it = index_.find(id);
            if (it == index_.end()) return nullptr;
            ended_claim& found = at(it->second - first_);
            return now < found.until ? &found : nullptr;
        } else {
            // Ids are random: one that matches is looked at closely, and only then the order counts.
            const auto alike = [&](const ended_claim& one) { return one.id.bits[0] == id.bits[0]; };
            if (std::none_of(ring_.begin(), ring_.end(), alike)) return nullptr;
            for (std::size_t i = count_; i-- > 0;)
                if (at(i).id == id) return now < at(i).until ? &at(i) : nullptr;
            return nullptr;
        }
    }

    // None is remembered any more.
    bool empty(spi::time_point now) const noexcept { return count_ == 0 || at(count_ - 1).until <= now; }

private:
    static constexpr bool indexed = Most > 32;  // fewer are searched one by one
    struct no_index {};
    using index = std::unordered_map<claim_id, std::uint64_t>;  // numbers of places, counted from the first ever

    ended_claim& at(std::uint64_t i) noexcept { return ring_[(first_ + i) & (ring_.size() - 1)]; }
    const ended_claim& at(std::uint64_t i) const noexcept { return ring_[(first_ + i) & (ring_.size() - 1)]; }
    const ended_claim& oldest() const noexcept { return at(0); }

    void drop_oldest() {
        if constexpr (indexed)
            if (const auto it = index_.find(oldest().id); it->second == first_) index_.erase(it);
        ++first_;
        --count_;
    }

    void grow() {
        std::vector<ended_claim> larger(std::max<std::size_t>(1, 2 * ring_.size()));
        for (std::size_t i = 0; i < count_; ++i) larger[(first_ + i) & (larger.size() - 1)] = at(i);
        ring_ = std::move(larger);
    }

    std::vector<ended_claim> ring_;  // of a size that is a power of two
    std::uint64_t first_ = 0;        // the number of the oldest
    std::size_t count_ = 0;
    [[no_unique_address]] std::conditional_t<indexed, index, no_index> index_;
};

}  // namespace mortise::inline v0::base
