// Threads of one process that want the same key: one of them goes to the store, the others are told what it got. One that takes
// longer than `patience` leads no more: the next goes too.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace mortise::inline v0::patterns {

class companions {
public:
    using value = std::optional<std::string>;
    struct flight {
        std::optional<value> result{};  // none: it got nothing
        bool landed = false;
        std::thread::id led_by = std::this_thread::get_id();
        boot_clock::time_point begun = boot_clock::now();
    };

    // Leads a flight, and ends it.
    class leader {
    public:
        leader(companions& all, std::string key, std::shared_ptr<flight> mine)
            : all_(&all), key_(std::move(key)), mine_(std::move(mine)) {}
        leader(leader&&) = delete;
        ~leader() {
            const std::scoped_lock alone{all_->mutex_};
            mine_->landed = true;
            const auto place = all_->under_way_.find(key_);
            if (place != all_->under_way_.end() && place->second == mine_) all_->under_way_.erase(place);
            all_->changed_.notify_all();
        }

        value found(value what) {
            const std::scoped_lock alone{all_->mutex_};
            mine_->result = what;
            return what;
        }

    private:
        companions* all_;
        std::string key_;
        std::shared_ptr<flight> mine_;
    };

    explicit companions(std::chrono::nanoseconds patience) : patience_(patience) {}

    // Nothing: somebody else leads, `other` is that flight.
    std::unique_ptr<leader> lead(std::string_view key, std::shared_ptr<flight>& other) {
        const std::scoped_lock alone{mutex_};
        const auto found = under_way_.find(key);
        if (found != under_way_.end() && boot_clock::now() - found->second->begun < patience_) {
            other = found->second;
            return nullptr;
        }
        auto mine = std::make_shared<flight>();
        under_way_.insert_or_assign(std::string(key), mine);
        return std::make_unique<leader>(*this, std::string(key), std::move(mine));
    }

    // Until it has landed, or leads no more. False: the deadline came first.
    bool await(const flight& other, const std::optional<boot_clock::time_point>& deadline) {
        const boot_clock::time_point overdue = other.begun + patience_;
        std::unique_lock waiting{mutex_};
        const bool landed = changed_.wait_for(waiting, detail::until(deadline ? std::min(*deadline, overdue) : overdue),
                                              [&] { return other.landed; });
        return landed || !deadline || overdue < *deadline;
    }

    std::optional<value> result_of(const flight& other) {
        const std::scoped_lock alone{mutex_};
        return other.result;
    }

private:
    const std::chrono::nanoseconds patience_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::shared_ptr<flight>, std::less<>> under_way_;
};

}  // namespace mortise::inline v0::patterns
