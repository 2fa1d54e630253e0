// Threads of one process that want the same key: one of them goes to the store, the others are told what it got.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>

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
            all_->under_way_.erase(key_);
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

    // Nothing: somebody else leads, `other` is that flight.
    std::unique_ptr<leader> lead(std::string_view key, std::shared_ptr<flight>& other) {
        const std::scoped_lock alone{mutex_};
        if (const auto found = under_way_.find(key); found != under_way_.end()) {
            other = found->second;
            return nullptr;
        }
        auto mine = std::make_shared<flight>();
        under_way_.emplace(std::string(key), mine);
        return std::make_unique<leader>(*this, std::string(key), std::move(mine));
    }

    // False: it has not landed by then.
    bool await(const flight& other, const std::optional<boot_clock::time_point>& deadline) {
        std::unique_lock waiting{mutex_};
        const auto landed = [&] { return other.landed; };
        if (!deadline) {
            changed_.wait(waiting, landed);
            return true;
        }
        return changed_.wait_for(waiting, detail::until(*deadline), landed);
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::shared_ptr<flight>, std::less<>> under_way_;
};

}  // namespace mortise::inline v0::patterns
