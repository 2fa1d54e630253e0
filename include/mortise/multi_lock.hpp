// Several names at once: all of them or none.
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

// The holds of several names, which stand and fall together. A move-only handle like hold; destroying it releases all
// (kept_by::lease excepted).
//
// If one of them is lost, it is over: valid() is false, lost() is requested, then those that are left are released, and
// then on_lost callbacks run. What they protected together is no longer protected, so nobody should wait for the rest.
//
// All members may be called from any thread, but moving or destroying needs the usual exclusive access.
class MORTISE_API multi_hold {
public:
    multi_hold() noexcept;  // holds nothing
    multi_hold(multi_hold&&) noexcept;
    multi_hold& operator=(multi_hold&&) noexcept;  // releases what it held before
    ~multi_hold();

    // The truth about all of them: compares the clock itself, as hold::valid() does.
    bool valid() const noexcept;

    // Of the one that ends first.
    boot_clock::time_point valid_until() const noexcept;
    std::chrono::nanoseconds remaining() const noexcept;

    // Requested when any of them is lost; never by release().
    std::stop_token lost() const;

    // Calls `fn` once when any of them is lost (at once if one is already), as hold::on_lost does: on the notifier thread
    // of the client whose hold was lost, not begun after release().
    void on_lost(unique_function<void()> fn);

    // One hold per name, in the order in which they were taken: by store address, then by name.
    std::span<const hold> holds() const noexcept;

    // The hold of one name: its token goes with what is written under that name. Where two stores have the name, the
    // first; the second form says which. Throws errc::not_owner for a name that is not among them.
    const hold& at(std::string_view name) const;
    const hold& at(const client& locks, std::string_view name) const;

    // Gives all of them back, the last taken first. The worst answer counts: unknown, else taken_over, else expired; only
    // if all were ours to the end it is `released`. `ec` as in hold::release.
    release_result release() noexcept;
    release_result release(std::error_code& ec) noexcept;

    // The same without waiting, as hold::start_release.
    void start_release(release_completion done);

    // Whether there is something to release: granted and not released, valid or not.
    explicit operator bool() const noexcept;

private:
    friend class multi_lock;
    friend class locks::multi_claim;
    struct state;
    explicit multi_hold(std::shared_ptr<state> granted) noexcept;

    std::shared_ptr<state> state_;
};

// The answer to multi_lock::try_acquire: all holds, or what was in the way.
class [[nodiscard]] multi_attempt {
public:
    multi_attempt(multi_hold granted) noexcept : hold_(std::move(granted)) {}  // NOLINT(google-explicit-constructor)
    multi_attempt(mortise::refusal why, std::string name) noexcept
        : refusal_(std::move(why)), in_the_way_(std::move(name)) {}

    explicit operator bool() const noexcept { return !refusal_.has_value(); }

    // Only when granted.
    multi_hold& operator*() & noexcept { return hold_; }
    multi_hold&& operator*() && noexcept { return std::move(hold_); }
    multi_hold* operator->() noexcept { return &hold_; }

    // The holds, or the refusal as an exception.
    MORTISE_API multi_hold& value() &;
    MORTISE_API multi_hold value() &&;

    // Only when refused: why, and at which name.
    const mortise::refusal& refusal() const noexcept { return *refusal_; }
    const std::string& in_the_way() const noexcept { return in_the_way_; }

    std::error_code reason() const noexcept { return refusal_ ? refusal_->reason : std::error_code{}; }

    // As attempt::describe, with every name that was granted.
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

// Locks several names as one.
//
//     mortise::multi_lock both{locks, {"account 17", "account 4"}};
//     std::scoped_lock guard{both};
//
// Names are taken one after the other, sorted by store address and then by name, whatever order they were given in; a name
// given twice is taken once. So two callers that want the same names cannot wait for each other, in one process or in
// two, as long as everybody who takes several of them takes them this way. Addresses are compared as they are written:
// callers that mix stores must spell them alike.
//
// While it waits for one name it holds those before it, renewed. If one cannot be had, those taken are given back
// before the call returns; the error names the one that was in the way. If one that was taken is lost during the wait, the
// wait ends with errc::lost. There is one deadline for all of them.
//
// With the verbs of a mutex it is Lockable and TimedLockable, and what mutex.hpp says holds: one object may be shared by
// threads, the thread that locks unlocks, a thread that holds one of the names already is answered would_deadlock.
// With acquire() it gives a handle, and no thread counts.
//
// Each name is claimed as by a mutex: a mutex with one of the names excludes it. Options hold for every name;
// `options.wait` does not apply. With renew::off the lease of the first name runs while the last is waited for.
class MORTISE_API multi_lock {
public:
    // A name in a store of its own: {locks, "name"}.
    using place = std::pair<std::reference_wrapper<client>, std::string>;

    // Throw invalid_option without any name; invalid_name, unsupported, ... as mutex does.
    multi_lock(client& locks, std::initializer_list<std::string_view> names, claim_options options = {});
    multi_lock(client& locks, std::span<const std::string> names, claim_options options = {});
    explicit multi_lock(const std::vector<place>& places, claim_options options = {});
    ~multi_lock();  // releases what is still locked through this object
    multi_lock(const multi_lock&) = delete;
    multi_lock& operator=(const multi_lock&) = delete;

    // The handle form: all holds, or a refusal and the name it is about. acquire throws the refusal, or sets `ec` and
    // answers an empty multi_hold.
    [[nodiscard]] multi_hold acquire();
    [[nodiscard]] multi_hold acquire(std::error_code& ec);
    [[nodiscard]] multi_attempt try_acquire();
    [[nodiscard]] multi_attempt try_acquire_for(detail::any_duration wait);
    [[nodiscard]] multi_attempt try_acquire_until(detail::any_time_point deadline);

    // Never blocks: calls `done` exactly once with the answer, as client::start does, on the notifier thread of one of the
    // clients. Without how.wait it waits for ever. What was taken is given back before `done` is called with a refusal. The
    // multi_lock may be destroyed meanwhile.
    using completion = unique_function<void(multi_attempt)>;
    void start(const wait_options& how, completion done);

    // The mutex form.
    void lock();
    void lock(std::error_code& ec);
    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;  // lost: one of them had ended; not_owner; unreachable

    // The calling thread's holds. Throws errc::not_owner when this thread holds nothing. Good until unlock().
    const multi_hold& hold() const;

    // Sorted, without duplicates.
    const std::vector<std::string>& names() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
