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
class MORTISE_API watching {
public:
    watching() noexcept;  // watches nothing
    explicit watching(std::shared_ptr<core::list_poller> begun) noexcept;
    watching(watching&&) noexcept;
    watching& operator=(watching&&) noexcept;  // ends its previous watch
    ~watching();

private:
    std::shared_ptr<core::list_poller> poller_;
};

}  // namespace mortise::inline v0
