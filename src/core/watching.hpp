// How a watch looks at the store: again and again, telling what is different.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/watching.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::core {

class engine;

// Stores differ in whether they can tell of changes; all of them can list, so a watch is a list now and then. The clock's
// thread only keeps the time: a list may take long where a store is stuck, and is asked for on the notifier thread.
class lookout : public std::enable_shared_from_this<lookout> {
public:
    static constexpr spi::duration pace = std::chrono::milliseconds{200};

    lookout(std::shared_ptr<engine> home, std::string_view name, client::change changed);

    bool begin();  // false: there is no thread to run the callback on
    void stop() noexcept;

private:
    bool post_look();
    void keep_time() noexcept;
    void look();
    void seen(spi::listing all);
    void tell(std::error_code failed);

    const std::shared_ptr<engine> home_;
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

watching watch(std::shared_ptr<engine> home, std::string_view name, client::change changed);

}  // namespace mortise::inline v0::core
