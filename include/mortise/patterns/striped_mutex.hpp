// Many keys over a bounded set of locks.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/mutex.hpp>

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0 {

// A lock for each of millions of keys, at the price of a few names in the store: keys share `stripes` mutexes by their
// hash. Two keys may share one and then wait for each other, so a thread that holds one key's lock must not lock another
// key's by itself (would_deadlock): use names() with a multi_lock.
//
//     mortise::striped_mutex accounts{locks, "account", 64};
//     std::scoped_lock guard{accounts["alice"]};
//
//     mortise::multi_lock both{locks, accounts.names({"alice", "bob"})};
//
// The hash is the same in every build and on every machine (docs/striped_mutex.md). All who share the keys must agree on the
// name and the number of stripes.
//
// When not to use it: docs/striped_mutex.md.
class MORTISE_API striped_mutex {
public:
    static constexpr std::size_t most_stripes = 65'536;

    striped_mutex(client& locks, std::string_view name, std::size_t stripes, claim_options options = {});
    striped_mutex(const striped_mutex&) = delete;
    striped_mutex& operator=(const striped_mutex&) = delete;

    // The key's mutex. Valid as long as this object.
    mutex& operator[](std::string_view key) { return stripes_[stripe_of(key)]; }

    // The names of the locks of these keys, each once, in order.
    std::vector<std::string> names(std::span<const std::string_view> keys) const;
    std::vector<std::string> names(std::initializer_list<std::string_view> keys) const {
        return names(std::span{keys.begin(), keys.size()});
    }

    std::size_t stripe_of(std::string_view key) const noexcept;
    std::size_t stripes() const noexcept { return stripes_.size(); }

private:
    std::deque<mutex> stripes_;
};

}  // namespace mortise::inline v0
