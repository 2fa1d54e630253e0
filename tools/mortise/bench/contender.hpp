// A lock under measure: ours, or a baseline of the store. Both are driven through mortise::baseline_end.
#pragma once

#include "baseline/baseline.hpp"

#include <mortise/client.hpp>

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
using maker = std::function<std::unique_ptr<mortise::baseline_end>(int lane)>;

struct contender {
    std::string name;
    bool ours = true;
    bool alternates = false;  // two threads take turns whether they want or not
    bool keeps = false;       // a lock object, which may keep the grant of its last unlock
    bool commits = false;     // one thread alone: what it takes to have something on disk
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

// The shared side of mortise::shared_mutex.
contender reader_on(const std::string& store, const names& where, mortise::client_options how = {});

// Excludes nobody and asks nobody.
contender no_lock();

contender baseline_on(const mortise::baseline& one, const names& where);

}  // namespace bench
