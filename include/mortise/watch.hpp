// The handle of client::watch.
#pragma once

#include <mortise/config.hpp>

#include <memory>

namespace mortise::inline v0 {

namespace core {
class list_poller;
}

// A running client::watch. Move-only. Destroying it ends the watch: no callback starts afterwards, and a running one is
// waited for, unless it is the one that destroys the handle. It may outlive the client, and then watches nothing.
class MORTISE_API watch {
public:
    watch() noexcept;  // watches nothing
    explicit watch(std::shared_ptr<core::list_poller> begun) noexcept;
    watch(watch&&) noexcept;
    watch& operator=(watch&&) noexcept;  // ends its previous watch
    ~watch();

private:
    std::shared_ptr<core::list_poller> poller_;
};

}  // namespace mortise::inline v0
