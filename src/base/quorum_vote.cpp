#include "base/quorum_vote.hpp"

#include <algorithm>

namespace mortise::inline v0::base {

quorum_vote::quorum_vote(const rules& given, spi::time_point started)
    : rules_(given),
      started_(started),
      wait_(std::min(given.node_timeout, given.lease / 5)),
      ballots_(given.nodes, ballot::none) {}

quorum_vote::result quorum_vote::cast(std::size_t node, ballot answer, spi::time_point now) {
    if (result_ != result::open || ballots_[node] != ballot::none) return result_;
    ballots_[node] = answer;
    return result_ = decide(now);
}

quorum_vote::result quorum_vote::poll(spi::time_point now) {
    if (result_ != result::open) return result_;
    if (now >= deadline()) std::replace(ballots_.begin(), ballots_.end(), ballot::none, ballot::failed);
    return result_ = decide(now);
}

quorum_vote::result quorum_vote::decide(spi::time_point now) const {
    const std::size_t needed = majority_of(rules_.nodes);
    const std::size_t granted = count(ballot::granted);
    if (granted >= needed) return in_time(now) ? result::granted : result::too_late;
    const std::size_t open = count(ballot::none);
    if (granted + open >= needed) return result::open;
    // It is not granted, and what is left to know is why. Those still open may be busy too: nobody waits for them.
    if (granted + count(ballot::busy) + open >= needed) return result::busy;
    if (count(ballot::refused) > rules_.nodes - needed) return result::refused;
    return result::failed;
}

spi::duration quorum_vote::validity(spi::time_point now) const noexcept {
    const auto drift = std::chrono::duration_cast<spi::duration>(rules_.lease * rules_.drift);
    return rules_.lease - (now - started_) - drift - rules_.margin;
}

bool quorum_vote::in_time(spi::time_point now) const noexcept {
    const spi::duration left = validity(now);
    return left > spi::duration::zero() && left >= rules_.min_validity;
}

std::size_t quorum_vote::count(ballot which) const noexcept {
    return static_cast<std::size_t>(std::count(ballots_.begin(), ballots_.end(), which));
}

bool quorum_vote::may_be_at(std::size_t node) const noexcept {
    switch (ballots_[node]) {
        case ballot::granted:
        case ballot::abstained:
        case ballot::failed:
        case ballot::none:
            return true;
        case ballot::busy:
        case ballot::refused:
        case ballot::unreached:
            break;
    }
    return false;
}

std::optional<spi::duration> free_in_a_majority(std::vector<std::optional<spi::duration>> nodes) {
    const std::size_t needed = majority_of(nodes.size());
    std::erase(nodes, std::nullopt);
    if (nodes.size() < needed) return std::nullopt;
    std::sort(nodes.begin(), nodes.end());
    return nodes[needed - 1];
}

spi::renewal_answer renewed_by(std::size_t nodes, std::size_t renewed, std::size_t lost) noexcept {
    const std::size_t needed = majority_of(nodes);
    if (renewed >= needed) return spi::renewal_answer::renewed;
    return lost > nodes - needed ? spi::renewal_answer::lost : spi::renewal_answer::unknown;
}

spi::release_answer released_by(const std::vector<spi::release_answer>& nodes) noexcept {
    const auto count = [&](spi::release_answer which) {
        return static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), which));
    };
    using enum spi::release_answer;
    const std::size_t needed = majority_of(nodes.size());
    if (count(released) >= needed) return released;
    if (count(released) + count(unknown) >= needed) return unknown;
    return count(taken_over) >= needed ? taken_over : expired;
}

}  // namespace mortise::inline v0::base
