// How a watch looks at the store: it lists again and again, and tells what is different.
#pragma once

#include "core/claim_policy.hpp"
#include "core/store_link.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/watch.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::core {

// Stores differ in whether they can tell of changes, so a watch is a list now and then. The clock's thread only keeps the
// time: a list may take long where a store is stuck, and is asked for on the notifier thread.
class list_poller : public std::enable_shared_from_this<list_poller> {
public:
    static constexpr spi::duration pace = std::chrono::milliseconds{200};

    list_poller(std::shared_ptr<store_link> link, std::string_view name, client::change changed);

    bool begin();  // false: there is no thread to run the callback on
    void stop() noexcept;

private:
    bool post_look();
    void keep_time() noexcept;
    void look();
    void seen(spi::listing all);
    void tell(std::error_code failed);

    const std::shared_ptr<store_link> link_;
    const std::string name_;
    client::change changed_;

    std::recursive_mutex calling_;  // around calls of changed_, so that stop() waits; its own caller does not
    bool stopped_ = false;
    bool told_ = false;
    std::vector<held_lock> last_;
    std::error_code failed_;
    std::optional<spi::time_point> asked_;  // since when the store owes an answer
    std::atomic<bool> posted_{false};       // a look has not begun yet: the notifier is busy
};

// The link keeps its client alive.
mortise::watch watch(std::shared_ptr<store_link> link, const claim_policy& policy, std::string_view name,
                     client::change changed);

}  // namespace mortise::inline v0::core
