// The hold: what the user's code owns once a claim was granted.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/token.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <iosfwd>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

namespace core {
class claimant;
}

// How a release ended. Whatever the answer, the caller no longer holds.
enum class release_result {
    released,    // the store took it back; it was ours to the end
    expired,     // the lease had ended before; nobody had taken the lock yet
    taken_over,  // the lease had ended and somebody else holds the lock now
    unknown,     // the store did not answer in time; retried in the background until the lease is over
    sent,        // on its way; nobody waited for the answer (release_mode::lazy)
};

MORTISE_API std::string_view to_string(release_result) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, release_result);

// Told how a release ended that nobody waited for: the answer, and why it is `unknown` if it is.
using release_completion = unique_function<void(release_result, std::error_code)>;

// A move-only handle, free to travel between threads and coroutines: ownership is the handle, not the thread.
// Destroying it releases (kept_by::lease excepted); that never throws and is bounded
// (client_options::release_wait).
//
//              lease renewed
//              +---------+
//              v         |        renewal unanswered          deadline passed, or the
//   granted -> held -----+-----------> at risk ---------------> lost
//              ^                         |       store said "not yours"
//              +---- renewed after all --+
//
// All members may be called from any thread, but moving or destroying needs the usual exclusive access.
class MORTISE_API hold {
public:
    hold() noexcept;  // holds nothing
    hold(hold&&) noexcept;
    hold& operator=(hold&&) noexcept;  // releases what it held before
    ~hold();

    // **The truth.** Compares the clock itself, so it is false before the first instruction after a pause, a
    // suspend or a stop, with no thread having to run first. A write that was sent before may still arrive after:
    // that is what token() is for.
    bool valid() const noexcept;

    // valid() as of now, until when, and how much is left. time_point::max() and duration::max() for a hold without
    // a lease. Once released or lost: time_point::min() and zero.
    boot_clock::time_point valid_until() const noexcept;
    std::chrono::nanoseconds remaining() const noexcept;

    // Requested when the hold is lost; never by release(). Best effort: as soon as the process is scheduled.
    std::stop_token lost() const;

    // Calls `fn` once when the hold is lost (at once if it is already). Runs on the client's notifier thread, so it
    // may take its time without delaying any renewal; what it throws is swallowed. Not begun after release(). Throws
    // errc::exhausted if that thread cannot be started. An empty `fn` is ignored.
    void on_lost(unique_function<void()> fn);

    // The fencing token, to be sent with every write that the lock is meant to protect. Throws errc::no_token where
    // the store has none; the second form sets `ec` and answers token{}.
    mortise::token token() const;
    mortise::token token(std::error_code& ec) const noexcept;

    const std::string& name() const noexcept;

    // The secret by which anybody may release a detached claim (client::release). Empty for a claim that is not: its id
    // may pass to the next holder of this process.
    claim_id id() const noexcept;

    // Gives the lock back. Waits for the store's answer, bounded by client_options::release_wait. Repeating it
    // gives the first answer again (while the first is still under way: `unknown`, errc::busy). `ec` tells why the
    // answer is `unknown`: errc::unreachable, forked, closed.
    release_result release() noexcept;
    release_result release(std::error_code& ec) noexcept;

    // The same without waiting: returns at once and calls `done` exactly once with that answer, as client::start does; for an
    // empty hold on the thread at hand. The handle holds nothing from now on and may be destroyed. Throws invalid_option for
    // an empty `done`.
    void start_release(release_completion done);

    // Whether there is something to release: granted and not released, valid or not.
    explicit operator bool() const noexcept;

private:
    friend class core::claimant;
    explicit hold(std::shared_ptr<core::claimant> granted) noexcept;

    std::shared_ptr<core::claimant> granted_;
};

// "'report', token 1823..."; ", lost" if it is; "nothing" once it was released.
MORTISE_API std::string to_string(const hold&);
MORTISE_API std::ostream& operator<<(std::ostream&, const hold&);

}  // namespace mortise::inline v0
