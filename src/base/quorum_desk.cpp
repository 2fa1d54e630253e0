#include "base/quorum_desk.hpp"

#include "base/quorum_promises.hpp"

namespace mortise::inline v0::base {

quorum_desk::quorum_desk(const std::vector<spi::quorum_node>& which, const spi::quorum_options& given,
                         const spi::context& outer)
    : options(given), context(outer) {
    std::vector<mortise::promises> promised;
    for (const spi::quorum_node& one : which) {
        nodes.push_back(std::make_unique<quorum_node>(one, context, options.settle));
        promised.push_back(nodes.back()->store().promises());
    }
    promises = promises_of_quorum(promised, options);
}

spi::time_point quorum_desk::gone_by(spi::duration lease) const {
    return context.clock.now() + keeps_abandoned(lease).value_or(lease);
}

std::optional<spi::duration> quorum_desk::keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept {
    spi::duration longest{};
    for (const auto& node : nodes) {
        const auto kept = node->store().keeps_abandoned(lease);
        if (!kept) return std::nullopt;
        longest = std::max(longest, *kept);
    }
    return longest;
}

void quorum_desk::close() noexcept {
    if (closed.exchange(true)) return;
    for (const auto& node : nodes) node->close();
    // Replies are dropped with no mutex held.
    std::unordered_map<claim_id, quorum_entry> known;
    quorum_round::by_deadline open;
    lock held{mutex};
    open = rounds.close();
    known.swap(entries);
    held.unlock();
}

}  // namespace mortise::inline v0::base
