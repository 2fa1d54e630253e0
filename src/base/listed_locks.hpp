// Lists that were put together from parts. Pure.
#pragma once

#include <mortise/config.hpp>
#include <mortise/holder.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

namespace mortise::inline v0::base {

// By name, in the order in which they came; a hold that came twice, once.
inline void sort_listed(std::vector<held_lock>& all) {
    const auto same = [](const held_lock& a, const held_lock& b) {
        return a.name == b.name && a.holder.token == b.holder.token && a.holder.token.counter() != 0;
    };
    std::ranges::stable_sort(all, {}, [](const held_lock& one) { return std::tie(one.name, one.holder.token); });
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

}  // namespace mortise::inline v0::base
