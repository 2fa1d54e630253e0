// The handle of client::watch.
#pragma once

#include <mortise/config.hpp>

#include <memory>

namespace mortise::inline v0 {

namespace core {
class lookout;
}

// Move-only. Destroying it ends the watch: no call begins after that, and one that is under way is waited for, unless it is
// the one that destroys the handle. May outlive the client; then it only watches nothing any more.
class MORTISE_API watching {
public:
    watching() noexcept;  // watches nothing
    explicit watching(std::shared_ptr<core::lookout> begun) noexcept;
    watching(watching&&) noexcept;
    watching& operator=(watching&&) noexcept;  // ends what it watched before
    ~watching();

private:
    std::shared_ptr<core::lookout> lookout_;
};

}  // namespace mortise::inline v0
