// Several locks as one: all of them or none.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/boot_clock.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::inline v0 {

class multi_attempt;

namespace locks {
class multi_claim;
}

// How long several holds count as one.
enum class valid_while {
    all,  // until the first of them is lost: they protect different things
    any,  // until the last of them is lost: they are copies of one lock in several stores
};

// The holds of several names as one. A move-only handle like hold; destroying it releases all of them (except those
// with kept_by::lease).
//
// If one hold is lost, all are: valid() is false, lost() is requested, then the other holds are released, then the
// on_lost callbacks run. What the locks protected together is no longer protected, so no waiter should be delayed by
// the rest.
//
// With valid_while::any a loss changes nothing but at_risk(), as long as another hold is valid: whoever wants the lock needs
// all of them. The observer of the client whose hold was lost is told at_risk. lost() is requested and the callbacks run
// when the last one is lost. What is said below of "all" and "the first" then holds of "any" and "the last".
//
// All members may be called from any thread; moving and destroying require exclusive access, as usual.
class MORTISE_API multi_hold {
public:
    multi_hold() noexcept;  // holds nothing
    multi_hold(multi_hold&&) noexcept;
    multi_hold& operator=(multi_hold&&) noexcept;  // releases its previous holds
    ~multi_hold();

    // Whether all holds are still valid. Reads the clock at each call, as hold::valid() does.
    bool valid() const noexcept;

    // Whether it is still valid though one of the holds has been lost; only with valid_while::any.
    bool at_risk() const noexcept;

    // When the first of the holds expires, and the time left until then.
    boot_clock::time_point valid_until() const noexcept;
    std::chrono::nanoseconds remaining() const noexcept;

    // Requested when any hold is lost; never by release().
    std::stop_token lost() const;

    // Calls `fn` once when any hold is lost (at once if one is already), as hold::on_lost does: on the notifier thread
    // of the client whose hold was lost, and never after release().
    void on_lost(unique_function<void()> fn);

    // One hold per name, in the order of acquisition: by store address, then by name.
    std::span<const hold> holds() const noexcept;

    // The hold of one name. Send its token with writes to what that name protects. If two stores have the name, the
    // first form returns the first hold; the second form selects the client. Throws errc::not_owner if the name is not
    // among them.
    const hold& at(std::string_view name) const;
    const hold& at(const client& locks, std::string_view name) const;

    // Releases all holds, in reverse order of acquisition. The result is the worst one: unknown, else taken_over, else
    // expired; `released` only if all were held to the end. With valid_while::any it is the best one. `ec` as in
    // hold::release.
    release_result release() noexcept;
    release_result release(std::error_code& ec) noexcept;

    // The same without waiting, like hold::start_release.
    void start_release(release_completion done);

    // True if there is something to release: granted and not yet released, valid or not.
    explicit operator bool() const noexcept;

private:
    friend class multi_lock;
    friend class locks::multi_claim;
    struct state;
    explicit multi_hold(std::shared_ptr<state> granted) noexcept;

    std::shared_ptr<state> state_;
};

// The result of multi_lock::try_acquire: all holds, or why there are none.
class [[nodiscard]] multi_attempt {
public:
    multi_attempt(multi_hold granted) noexcept : hold_(std::move(granted)) {}  // NOLINT(google-explicit-constructor)
    multi_attempt(mortise::refusal why, std::string name) noexcept
        : refusal_(std::move(why)), in_the_way_(std::move(name)) {}

    explicit operator bool() const noexcept { return !refusal_.has_value(); }

    // Only if granted.
    multi_hold& operator*() & noexcept { return hold_; }
    multi_hold&& operator*() && noexcept { return std::move(hold_); }
    multi_hold* operator->() noexcept { return &hold_; }

    // The holds. Throws the refusal as mortise::error.
    MORTISE_API multi_hold& value() &;
    MORTISE_API multi_hold value() &&;

    // Only if refused: why, and which name was in the way.
    const mortise::refusal& refusal() const noexcept { return *refusal_; }
    const std::string& in_the_way() const noexcept { return in_the_way_; }

    std::error_code reason() const noexcept { return refusal_ ? refusal_->reason : std::error_code{}; }

    // Like attempt::describe, with all names that were granted.
    MORTISE_API std::string describe() const;

private:
    multi_hold hold_;
    std::optional<mortise::refusal> refusal_;
    std::string in_the_way_;
};

inline std::string to_string(const multi_attempt& it) {
    return it.describe();
}
MORTISE_API std::ostream& operator<<(std::ostream&, const multi_attempt&);

// Locks several names as one: all of them or none.
//
//     mortise::multi_lock both{locks, {"account 17", "account 4"}};
//     std::scoped_lock guard{both};
//
// Names are acquired one after the other, sorted by store address and then by name, regardless of the order given; a
// name given twice is acquired once. Callers that want the same names therefore cannot deadlock, in one process or in
// several, as long as everybody who locks several of them does it this way. Addresses are compared as text: callers
// that mix stores must spell them alike.
//
// While it waits for one name it holds and renews those before it. If one cannot be acquired, the others are released
// before the call returns, and the error names the one in the way. If one is lost during the wait, the wait ends with
// errc::lost. All names share one deadline.
//
// With lock() and unlock() it is Lockable and TimedLockable, and what mutex.hpp says applies: threads may share one
// object, the thread that locks must unlock, and a thread that already holds one of the names gets would_deadlock.
// acquire() returns a handle that belongs to no thread.
//
// To survive a store that forgets a lock, such as a master of Redis that fails over before it has replicated, take one lock in
// several independent stores:
//
//     mortise::multi_lock stock{{{one, "stock"}, {two, "stock"}, {three, "stock"}}, {}, mortise::valid_while::any};
//
// All stores must grant it, so nobody else gets it while one of them keeps it. The price: if one store is not reachable,
// nobody gets the lock.
//
// Each name is claimed as a mutex claims it, so a mutex with one of the names excludes it. The options apply to every
// name; `options.wait` is ignored. With renew::off the lease of the first name runs while the last one is waited for.
class MORTISE_API multi_lock {
public:
    // A name and the client of its store: {locks, "name"}.
    using place = std::pair<std::reference_wrapper<client>, std::string>;

    // Throw invalid_option if there is no name; invalid_name, unsupported, ... like mutex.
    multi_lock(client& locks, std::initializer_list<std::string_view> names, claim_options options = {});
    multi_lock(client& locks, std::span<const std::string> names, claim_options options = {});
    explicit multi_lock(const std::vector<place>& places, claim_options options = {},
                        valid_while rule = valid_while::all);
    ~multi_lock();  // releases every hold that was locked through this object
    multi_lock(const multi_lock&) = delete;
    multi_lock& operator=(const multi_lock&) = delete;

    // The handle form. acquire waits, and throws the refusal or sets `ec` and returns an empty multi_hold. try_acquire
    // returns all holds, or the refusal and the name that was in the way; without waiting, or for at most any
    // std::chrono::duration, or until any std::chrono::time_point.
    [[nodiscard]] multi_hold acquire();
    [[nodiscard]] multi_hold acquire(std::error_code& ec);
    [[nodiscard]] multi_attempt try_acquire();
    [[nodiscard]] multi_attempt try_acquire_for(detail::any_duration wait);
    [[nodiscard]] multi_attempt try_acquire_until(detail::any_time_point deadline);

    // Never blocks. Calls `done` exactly once with the result, as client::start does, on the notifier thread of one of
    // the clients. Without how.wait the wait is unlimited. Before a refusal is passed to `done`, the names acquired so
    // far are released. The multi_lock may be destroyed meanwhile.
    using completion = unique_function<void(multi_attempt)>;
    void start(const wait_options& how, completion done);

    // The mutex form: see mutex.
    void lock();
    void lock(std::error_code& ec);
    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;  // lost: one of the leases had expired; not_owner; unreachable

    // The calling thread's holds. Throws errc::not_owner if this thread has not locked it. The reference is valid until
    // unlock().
    const multi_hold& hold() const;

    // The names in the order of acquisition, without duplicates.
    const std::vector<std::string>& names() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
