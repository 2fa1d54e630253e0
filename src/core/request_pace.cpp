#include "core/request_pace.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::inline v0::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How often a claim in the store's line looks again, in case a push got lost and nobody's lease sets the pace.
constexpr spi::duration idle_look = seconds{10};

// How long before the end of a wait it looks for the last time.
constexpr spi::duration last_look = milliseconds{100};

// How often a claim asks a store that answers `busy` instead of queueing it: rarely more than five times a second.
constexpr spi::duration first_poll = milliseconds{25};
constexpr spi::duration longest_poll = milliseconds{200};

// How many polls go by before a lease's announced end shortens a pause again: a holder that renews announces ever new ends.
constexpr unsigned polls_between_shortcuts = 16;

// 0 to 1, different for every claim: so that a crowd does not come back in step.
double spread(const claim_id& id, unsigned salt) noexcept {
    const auto mixed = (id.bits[0] + salt * 0x9e3779b97f4a7c15u) >> 11;
    return static_cast<double>(mixed) / static_cast<double>(std::uint64_t{1} << 53);
}

spi::duration part(spi::duration whole, double share) {
    return std::chrono::duration_cast<spi::duration>(whole * share);
}

}  // namespace

spi::duration pause_while_queued(const cohort& c, spi::duration patience) {
    // Whatever the lease: a store that keeps silent is to be noticed.
    const spi::duration pace = std::min(c.terms.lease ? *c.terms.lease / 3 : idle_look, patience);
    spi::duration usual = pace - part(pace / 10, spread(c.id, 0));
    // Once more before the wait ends in vain, so that it can say who is in the way by then.
    const spi::time_point until = c.line.empty() ? spi::time_point::max() : c.line.front()->waiting->deadline;
    if (until != spi::time_point::max()) {
        const spi::duration left = until - last_look - c.asked->heard;
        if (left > last_look) usual = std::min(usual, left);
    }
    const spi::standing& at = *c.asked->standing;
    if (at.place.value_or(1) > 1 || !at.free_in) return usual;
    // Next in line: look when the holder's lease ends, which the store may not tell us of.
    const spi::duration jitter = std::min<spi::duration>(pace / 10, seconds{1});
    return std::min(usual, std::max(*at.free_in, spi::duration::zero()) + part(jitter, spread(c.id, 1)));
}

// Grows to its longest, a little shorter by chance. Sooner if a lease ends before that, but not time and again.
spi::duration pause_while_polling(cohort& c) {
    const unsigned polls = c.asked->polls++;
    const spi::duration step = std::min<spi::duration>(first_poll * (1 << std::min(polls, 10u)), longest_poll);
    const spi::duration usual = step - part(step / 5, spread(c.id, polls));
    const auto free_in = c.asked->standing->free_in;
    if (!free_in || *free_in >= usual || polls < c.asked->next_shortcut) return usual;
    c.asked->next_shortcut = polls + polls_between_shortcuts;
    return std::max(*free_in, spi::duration{milliseconds{1}});
}

spi::duration pause_after_failure(const cohort& c) {
    const unsigned tries = c.asked->failures;
    const spi::duration step = milliseconds{10} * (1 << std::min(tries, 7u));
    return step + part(step, spread(c.id, tries));
}

}  // namespace mortise::inline v0::core
