#include "core/cohort.hpp"

#include "base/grant_words.hpp"

#include <algorithm>

namespace mortise::inline v0::core {

using word_t = spi::grant_word;

bool cohort::would_queue() const {
    return std::any_of(line.begin(), line.end(), [](const auto& call) { return !call->waiting->no_wait; });
}

auto cohort::enter(bool waits, spi::time_point now) noexcept -> entry {
    std::uint64_t seen = word->value.load(std::memory_order_acquire);
    while (word_t::mark_of(seen) == mark()) {
        std::uint64_t next = seen;
        entry found = entry::in_use;
        switch (word_t::condition_of(seen)) {
            case word_t::idle:
                found = word_t::turn_of(seen) < mortise::token::most_turns && now < valid_until.load() ? entry::taken
                                                                                                       : entry::too_old;
                next = found == entry::taken ? word_t::of(mark(), word_t::turn_of(seen) + 1u, word_t::busy)
                                             : word_t::with(seen, word_t::gone);
                break;
            case word_t::busy:
                if (waits) next = word_t::with(seen, word_t::wanted);
                break;
            case word_t::wanted:
                break;
            case word_t::gone:
                return entry::ended;
        }
        if (next == seen || word->value.compare_exchange_weak(seen, next)) return found;
    }
    return entry::ended;
}

void cohort::want() noexcept {
    if (!word) return;
    std::uint64_t seen = word->value.load(std::memory_order_acquire);
    while (word_t::mark_of(seen) == mark() && word_t::condition_of(seen) == word_t::busy)
        if (word->value.compare_exchange_weak(seen, word_t::with(seen, word_t::wanted))) return;
}

bool cohort::nobody_inside() const noexcept {
    if (!word) return false;
    const std::uint64_t seen = word->value.load(std::memory_order_acquire);
    const auto condition = word_t::mark_of(seen) == mark() ? word_t::condition_of(seen) : word_t::gone;
    if (condition == word_t::idle) return true;
    return condition == word_t::gone && holder && holder->is.load(std::memory_order_acquire) == claimant::phase::kept;
}

bool cohort::next_turn(bool wanted) noexcept {
    if (!word) return ++turn, true;
    std::uint64_t seen = word->value.load(std::memory_order_acquire);
    while (word_t::mark_of(seen) == mark() && word_t::condition_of(seen) != word_t::gone) {
        const bool still = wanted || word_t::condition_of(seen) == word_t::wanted;
        const auto next = word_t::of(mark(), word_t::turn_of(seen) + 1u, still ? word_t::wanted : word_t::busy);
        if (word->value.compare_exchange_weak(seen, next)) return true;
    }
    return false;
}

std::uint16_t cohort::latest_turn() const noexcept {
    if (!word) return turn;
    const std::uint64_t seen = word->value.load(std::memory_order_acquire);
    return word_t::mark_of(seen) == mark() ? word_t::turn_of(seen) : turn;
}

void cohort::make_own_word() {
    word = std::make_unique<private_word>().release();  // the destructor's
    word_is_own = true;
    word->value.store(word_t::of(mark(), turn, word_t::busy));
}

std::optional<spi::time_point> cohort::kept_until() const noexcept {
    // Not by an acquire alone: it must not come before the store in next_look().
    if (!word_is_own || word_t::condition_of(word->value.load()) != word_t::idle) return std::nullopt;
    const spi::time_point since{spi::duration{word->since.load(std::memory_order_relaxed)}};
    return since + terms.keep_for();
}

spi::time_point cohort::next_look() noexcept {
    private_word* const own = own_word();
    if (own == nullptr) return lease.due();
    own->looked_after.store(false);
    const auto until = kept_until();
    if (!until) return lease.due();
    own->looked_after.store(true);
    return std::min(*until, lease.due());
}

bool claimant::keep(spi::time_point now) noexcept {
    spi::grant_word* const word = cohort->word;
    if (word == nullptr || turn >= mortise::token::most_turns ||
        now >= cohort->valid_until.load(std::memory_order_acquire))
        return false;
    is.store(phase::kept, std::memory_order_release);
    if (cohort->word_is_own) word->since.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    std::uint64_t seen = word_t::of(cohort->mark(), turn, word_t::busy);
    if (word->value.compare_exchange_strong(seen, word_t::of(cohort->mark(), turn, word_t::idle))) return true;
    is.store(phase::holding, std::memory_order_release);
    return false;
}

bool claimant::take_again(spi::time_point now) noexcept {
    spi::grant_word& word = *cohort->word;
    if (now >= cohort->valid_until.load(std::memory_order_acquire)) return false;
    std::uint64_t seen = word_t::of(cohort->mark(), turn, word_t::idle);
    if (!word.value.compare_exchange_strong(seen, word_t::of(cohort->mark(), turn + 1u, word_t::busy))) return false;
    ++turn;
    since.store(now, std::memory_order_relaxed);
    word.since.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    is.store(phase::holding, std::memory_order_release);
    return true;
}

boot_clock::time_point claimant::valid_until() const noexcept {
    if (is.load(std::memory_order_acquire) != phase::holding || keeper().forked()) return boot_clock::time_point::min();
    const auto until = cohort->valid_until.load(std::memory_order_acquire);
    return keeper().clock().now() < until ? until : boot_clock::time_point::min();
}

}  // namespace mortise::inline v0::core
