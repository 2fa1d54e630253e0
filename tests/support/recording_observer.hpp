// An observer that remembers.
#pragma once

#include <mortise/observer.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::testing {

class recording_observer final : public observer {
public:
    void on_event(const event& seen) override {
        std::scoped_lock guard{mutex_};
        events_.push_back(seen);
        grown_.notify_all();
    }

    std::vector<event> events() const {
        std::scoped_lock guard{mutex_};
        return events_;
    }

    std::vector<event> events(std::string_view name) const {
        std::scoped_lock guard{mutex_};
        std::vector<event> of_name;
        std::ranges::copy_if(events_, std::back_inserter(of_name), [&](const event& e) { return e.name == name; });
        return of_name;
    }

    std::vector<event_kind> kinds(std::string_view name) const {
        std::vector<event_kind> in_order;
        for (const event& e : events(name)) in_order.push_back(e.kind);
        return in_order;
    }

    // "claimed granted renewed released": easier to read in a failed test than numbers.
    std::string story(std::string_view name) const {
        std::string told;
        for (const event& e : events(name)) {
            if (!told.empty()) told += ' ';
            told += to_string(e.kind);
        }
        return told;
    }

    std::size_t count(event_kind kind) const {
        std::scoped_lock guard{mutex_};
        return counted(kind);
    }

    std::size_t count(event_kind kind, std::string_view name) const {
        std::scoped_lock guard{mutex_};
        return static_cast<std::size_t>(
            std::ranges::count_if(events_, [&](const event& e) { return e.kind == kind && e.name == name; }));
    }

    // For tests on real threads: until `n` events of the kind have been seen in all. False: not in time.
    bool wait_for(event_kind kind, std::size_t n = 1,
                  std::chrono::steady_clock::duration timeout = std::chrono::seconds{20}) const {
        std::unique_lock guard{mutex_};
        return grown_.wait_for(guard, timeout, [&] { return counted(kind) >= n; });
    }

    void clear() {
        std::scoped_lock guard{mutex_};
        events_.clear();
    }

private:
    std::size_t counted(event_kind kind) const {
        return static_cast<std::size_t>(std::ranges::count(events_, kind, &event::kind));
    }

    mutable std::mutex mutex_;
    mutable std::condition_variable grown_;
    std::vector<event> events_;
};

}  // namespace mortise::testing
