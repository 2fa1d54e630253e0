// A kind of lock under measure: ours, or a raw limit of the store. Both are driven through mortise::raw_end.
#pragma once

#include <mortise/client.hpp>
#include <mortise/raw_limits.hpp>

#include <functional>
#include <memory>
#include <string>

namespace bench {

// Which lock a thread takes: one for all, or one each.
struct names {
    std::string stem;
    bool each = false;

    std::string of(int lane) const { return each ? stem + "-" + std::to_string(lane) : stem; }
};

// Called once by each thread with its number, counted over all processes. What the maker owns ends with it.
using maker = std::function<std::unique_ptr<mortise::raw_end>(int lane)>;

struct contender {
    std::string name;
    bool raw = false;
    bool alternates = false;  // two threads take turns whether they want or not
    // Called once by each process, after it started.
    std::function<maker()> open{};
    // Removes what it left on the store; called when all processes are gone.
    std::function<void(int lanes)> clear = [](int) {};
};

// mortise::mutex. One client for each process, one mutex for each thread.
contender mutex_on(const std::string& store, const names& where, mortise::client_options how = {},
                   mortise::claim_options claim = {});

// client::acquire and hold::release.
contender handle_on(const std::string& store, const names& where, mortise::client_options how = {},
                    mortise::claim_options claim = {});

contender raw_on(const mortise::raw_limit& limit, const names& where);

}  // namespace bench
