// A granted lock.
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

// The result of a release. In every case the caller no longer holds the lock.
enum class release_result {
    released,    // the lock was held to the end and is free now
    expired,     // the lease had expired before; nobody has taken the lock since
    taken_over,  // the lease had expired, and somebody else holds the lock
    unknown,     // the store did not answer in time; the release is retried in the background until the lease is over
    sent,        // the release was sent without waiting for the answer (release_mode::lazy)
};

MORTISE_API std::string_view to_string(release_result) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, release_result);

// Called with the result of an asynchronous release, and the reason if the result is `unknown`.
using release_completion = unique_function<void(release_result, std::error_code)>;

// A granted claim: what you own while you hold a lock. A move-only handle that may move between threads and coroutines;
// it belongs to no thread. Destroying it releases the lock (except with kept_by::lease), which never throws and takes
// at most client_options::release_wait.
//
//              lease renewed
//              +---------+
//              v         |        renewal unanswered          deadline passed, or the
//   granted -> held -----+-----------> at risk ---------------> lost
//              ^                         |       store said "not yours"
//              +---- renewed after all --+
//
// All members may be called from any thread; moving and destroying require exclusive access, as usual.
class MORTISE_API hold {
public:
    hold() noexcept;  // holds nothing
    hold(hold&&) noexcept;
    hold& operator=(hold&&) noexcept;  // releases its previous hold
    ~hold();

    // Whether the lock is still held. Reads the clock at each call, so after a pause or suspend longer than the lease
    // it returns false immediately, without waiting for another thread to notice. A write sent before may still arrive
    // later: send token() with it.
    bool valid() const noexcept;

    // Until when it is valid unless renewed, and the time left. Without a lease: time_point::max() and duration::max().
    // Once released or lost: time_point::min() and zero.
    boot_clock::time_point valid_until() const noexcept;
    std::chrono::nanoseconds remaining() const noexcept;

    // Requested when the hold is lost; never by release(). Best effort: it needs a thread of the client to run.
    std::stop_token lost() const;

    // Calls `fn` once when the hold is lost (at once if it is already), and never after release(). It runs on the
    // client's notifier thread, so it may block without delaying renewals; its exceptions are ignored. Throws
    // errc::exhausted if that thread cannot be started. An empty `fn` is ignored.
    void on_lost(unique_function<void()> fn);

    // The fencing token. Send it with every write that the lock protects. Throws errc::no_token if the store has no
    // tokens; the second form sets `ec` and returns token{}.
    mortise::token token() const;
    mortise::token token(std::error_code& ec) const noexcept;

    const std::string& name() const noexcept;

    // The secret id with which anybody can release a detached claim (client::release). Zero for other claims, whose id
    // may pass to the next holder in this process.
    claim_id id() const noexcept;

    // Releases the lock. Waits for the store's answer for at most client_options::release_wait. A repeated call returns
    // the first result again (`unknown` with errc::busy while the first is pending). `ec` tells why the result is
    // `unknown`: errc::unreachable, forked, closed.
    release_result release() noexcept;
    release_result release(std::error_code& ec) noexcept;

    // The same without waiting. Calls `done` exactly once with the result, as client::start does; for an empty hold, on
    // the calling thread. The handle is empty afterwards and may be destroyed. Throws invalid_option if `done` is
    // empty.
    void start_release(release_completion done);

    // True if there is something to release: granted and not yet released, valid or not.
    explicit operator bool() const noexcept;

private:
    friend class core::claimant;
    explicit hold(std::shared_ptr<core::claimant> granted) noexcept;

    std::shared_ptr<core::claimant> granted_;
};

// "'report', token 1823...", with ", lost" if it is lost; "nothing" once released.
MORTISE_API std::string to_string(const hold&);
MORTISE_API std::ostream& operator<<(std::ostream&, const hold&);

}  // namespace mortise::inline v0
