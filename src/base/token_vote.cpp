#include "base/token_vote.hpp"

#include "base/quorum_vote.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::base {

token_vote::token_vote(memories nodes) : memories_(std::move(nodes)), states_(memories_.size(), state::unheard) {
    for (std::size_t i = 0; i < states_.size(); ++i)
        if (!memories_[i] || !memories_[i]->whole) states_[i] = state::out;
}

void token_vote::granted(std::size_t node, std::uint64_t counter) {
    if (states_[node] != state::unheard) return;
    states_[node] = state::ready;
    largest_ = std::max({largest_, counter, memories_[node]->floor});
}

void token_vote::not_granted(std::size_t node) {
    if (states_[node] != state::unheard) return;
    states_[node] = state::out;
    if (proposed_ != 0) decide();
}

std::vector<token_vote::order> token_vote::next() {
    std::vector<order> all;
    if (result_ != result::open) return all;
    if (proposed_ == 0) {
        propose();
        decide();
        if (result_ != result::open) return all;
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
        if (states_[i] != state::ready) continue;
        states_[i] = state::asked;
        all.push_back({i, proposed_, memories_[i]->version});
    }
    return all;
}

token_vote::result token_vote::answered(const order& which, const spi::raise_answer& answer) {
    using enum spi::raise_answer::verdict;
    if (result_ != result::open || which.to != proposed_ || states_[which.node] != state::asked) return result_;
    switch (answer.is) {
        case raised:
            states_[which.node] = state::raised;
            break;
        case not_larger:
            states_[which.node] = state::behind;
            largest_ = std::max(largest_, answer.largest);
            break;
        case lost:
        case forgot:
        case unknown:
        case unsupported:
            states_[which.node] = state::out;
            break;
    }
    decide();
    return result_;
}

std::size_t token_vote::count(state which) const noexcept {
    return static_cast<std::size_t>(std::count(states_.begin(), states_.end(), which));
}

// All who granted are asked again; what they raised to before is nobody's.
void token_vote::propose() {
    proposed_ = largest_ + 1;
    largest_ = proposed_;
    for (state& one : states_)
        if (one == state::asked || one == state::raised || one == state::behind) one = state::ready;
}

void token_vote::decide() {
    const std::size_t needed = majority_of(states_.size());
    const std::size_t raised = count(state::raised);
    if (raised >= needed) {
        result_ = result::agreed;
        return;
    }
    const std::size_t possible = raised + count(state::asked) + count(state::ready) + count(state::unheard);
    if (possible >= needed) return;
    if (possible + count(state::behind) >= needed)
        propose();
    else
        result_ = result::failed;
}

std::optional<std::uint64_t> floor_of_forgotten(std::span<const std::optional<spi::token_memory>> nodes) {
    std::size_t answered = 0;
    std::size_t whole = 0;
    std::uint64_t highest = 0;
    for (const auto& one : nodes) {
        if (!one) continue;
        ++answered;
        if (!one->whole) continue;
        ++whole;
        highest = std::max({highest, one->highest, one->floor});
    }
    if (whole >= majority_of(nodes.size())) return highest;
    if (answered == nodes.size() && highest == 0) return 0;
    return std::nullopt;
}

}  // namespace mortise::inline v0::base
