#include "base/split_retries.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::inline v0::base {
namespace {

constexpr spi::duration shortest_round = std::chrono::microseconds{100};
constexpr spi::duration longest_round = std::chrono::milliseconds{20};
constexpr int first_rounds = 4;

}  // namespace

// A holder has all nodes that it reached. Who is granted some and not others has met somebody who is no further.
std::optional<spi::duration> split_retries::pause(const quorum_vote& failed, spi::duration took, double chance) {
    if (failed.is() != quorum_vote::result::busy || failed.count(ballot::granted) == 0 || made_ == most)
        return std::nullopt;
    const spi::duration most_now = std::clamp(took, shortest_round, longest_round) * (first_rounds << made_++);
    return std::chrono::duration_cast<spi::duration>(most_now * chance);
}

}  // namespace mortise::inline v0::base
