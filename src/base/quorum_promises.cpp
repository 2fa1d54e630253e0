#include "base/quorum_promises.hpp"

#include "base/quorum_vote.hpp"
#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace mortise::inline v0::base {
namespace {

void lower(std::optional<std::chrono::nanoseconds>& to, const std::optional<std::chrono::nanoseconds>& other) {
    if (other) to = std::min(to.value_or(*other), *other);
}

}  // namespace

mortise::promises promises_of_quorum(std::span<const mortise::promises> nodes, const spi::quorum_options& options) {
    mortise::promises all{.store = options.store, .leases = true, .processes = true};
    for (const mortise::promises& node : nodes) {
        if (!node.leases)
            throw error(errc::unsupported,
                        "a quorum needs nodes with leases, and the " + node.store + " store has none");
        if (options.fenced && !(node.tokens && node.raises_tokens))
            throw error(errc::unsupported,
                        "a quorum with tokens (fenced) needs nodes whose tokens can be raised, and the " + node.store +
                            " store has none");
        all.processes = all.processes && node.processes;
        lower(all.default_lease, node.default_lease);
        lower(all.longest_lease, node.longest_lease);
    }
    if (!all.default_lease) all.default_lease = std::chrono::seconds{30};
    const bool settles = options.settle > spi::duration::zero();
    if (settles) lower(all.longest_lease, options.settle);
    lower(all.default_lease, all.longest_lease);

    const std::string count = std::to_string(nodes.size());
    const std::string needed = std::to_string(majority_of(nodes.size()));
    all.tokens = options.fenced;
    if (options.fenced) all.store += ", fenced";
    if (settles) all.store += ", settle";
    all.reach = nodes.front().reach;
    all.order = "None: who waits asks again, and the next to ask a majority gets it.";
    all.exclusion = "Yes, while " + needed + " of " + count + " nodes keep what they acknowledged; works while " +
                    needed + " of them do.";
    all.fencing = options.fenced
                      ? "Yes: a later grant has a larger token, also after nodes started again empty, while " + needed +
                            " of " + count + " remember theirs."
                      : "No: counters of several nodes give no token in one round.";
    all.freed = "At the end of its lease (" + readable(*all.default_lease) + " unless set otherwise).";
    all.assumes = {"The nodes are independent, and their clocks and the client's run equally fast to within 1 %.",
                   "The clocks of a majority of the nodes are not set forward, and no node evicts keys."};
    all.assumes.emplace_back(
        settles ? "All clients of the nodes wait for them to settle, for their longest lease or longer."
                : "A node that lost its data in a crash stays away for the longest lease, or settle= makes it.");
    if (options.fenced)
        all.assumes.emplace_back(
            "For tokens: a node forgets all of them or none when it starts again, and a majority remembers at all "
            "times.");
    all.ends = {std::string("A holder is paused past its lease: another is let in, ") +
                    (options.fenced ? "with a larger token." : "and no token tells."),
                "A majority of the nodes lose what they acknowledged within one lease, or their clocks jump forward."};
    if (!settles) all.ends.emplace_back("A node of the majority starts again empty, and votes for another.");
    return all;
}

}  // namespace mortise::inline v0::base
