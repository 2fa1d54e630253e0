// Threads of one process that want the same key: one of them goes to the store, the others are told what it got. One that takes
// longer than `patience` leads no more: the next goes too.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::inline v0::patterns {

class companions {
public:
    using value = std::optional<std::string>;

    // Those who wait are woken all at once and take no mutex, so that they do not wait for each other.
    class flight {
    public:
        // Until it has landed, or the time has come. True: it has landed.
        bool await(boot_clock::time_point until) const {
            return has_landed_.wait_for(detail::until(until)) == std::future_status::ready;
        }
        // Once it has landed. Nothing: it got nothing.
        const std::optional<value>& result() const { return result_; }

        // The first time. The last who leaves lets the lock go: a trip to the store, which the others need not wait for.
        void land(std::optional<value> result, hold lock) {
            if (std::exchange(landed_, true)) return;
            result_ = std::move(result);
            lock_ = std::move(lock);
            lands_.set_value();
        }

        const boot_clock::time_point begun = boot_clock::now();

    private:
        bool landed_ = false;  // its leader alone looks at it
        std::optional<value> result_;
        hold lock_;
        std::promise<void> lands_;
        const std::shared_future<void> has_landed_ = lands_.get_future().share();
    };

    // Leads a flight, and ends it.
    class leader {
    public:
        leader(companions& all, std::string key, std::shared_ptr<flight> mine)
            : all_(&all), key_(std::move(key)), mine_(std::move(mine)) {}
        leader(leader&&) = delete;
        ~leader() { land(std::nullopt); }

        // From then on nobody joins: the next who comes leads.
        void close() {
            const std::scoped_lock alone{all_->mutex_};
            const auto place = all_->under_way_.find(key_);
            if (place != all_->under_way_.end() && place->second == mine_) all_->under_way_.erase(place);
        }

        // The first time.
        void land(std::optional<value> result, hold lock = {}) {
            close();
            mine_->land(std::move(result), std::move(lock));
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
        if (found != under_way_.end() && boot_clock::now() < overdue(*found->second)) {
            other = found->second;
            return nullptr;
        }
        auto mine = std::make_shared<flight>();
        under_way_.insert_or_assign(std::string(key), mine);
        return std::make_unique<leader>(*this, std::string(key), std::move(mine));
    }

    // From then on it leads no more.
    boot_clock::time_point overdue(const flight& one) const { return one.begun + patience_; }

private:
    const std::chrono::nanoseconds patience_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<flight>, std::less<>> under_way_;
};

}  // namespace mortise::inline v0::patterns
