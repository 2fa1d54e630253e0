// What a hold asks of the client that it came from.
#pragma once

#include <mortise/config.hpp>
#include <mortise/hold.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <system_error>

namespace mortise::inline v0::core {

class claimant;
class notifications;

// Claims own it together, so it is there while any hold is, whatever became of the client.
class hold_keeper {
public:
    virtual release_result release(const std::shared_ptr<claimant>& call, std::error_code& ec) noexcept = 0;
    // The same without waiting: `done` is called exactly once, from any thread, possibly before this returns.
    virtual void start_release(const std::shared_ptr<claimant>& call, release_completion done) = 0;
    virtual void drop(const std::shared_ptr<claimant>& call) noexcept = 0;  // of a destroyed hold

    virtual std::stop_token lost_token(claimant& call) = 0;
    virtual void on_lost(const std::shared_ptr<claimant>& call, unique_function<void()> listener) = 0;

    virtual bool forked() const noexcept = 0;
    virtual spi::clock& clock() const noexcept = 0;
    virtual core::notifications& notifications() const noexcept = 0;
    virtual const std::string& shown_as() const noexcept = 0;

protected:
    ~hold_keeper() = default;
};

}  // namespace mortise::inline v0::core
