// std::shared_mutex, but for a fleet; with reads that can become writes.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// Many readers or one writer, across every thread, process and machine that uses the same store.
//
//     mortise::shared_mutex config{locks, "config"};
//     { std::shared_lock reading{config}; ... }     // beside other readers
//     { std::scoped_lock writing{config}; ... }     // alone
//
// As with std::shared_timed_mutex: Lockable, SharedLockable and their timed forms. What mutex.hpp says of loss, failure,
// nesting and unlocking holds here too; a thread has a name in one way at a time, and locking it again in any way is
// answered would_deadlock.
//
// Order: first come, first served. A writer that waits keeps later readers waiting, so no stream of readers starves it;
// readers that come one after another are let in together.
//
// An **upgradeable** read goes beside plain reads, but there is only one at a time. It alone may become a write without
// letting go in between: upgrade() goes before everybody who waits, and waits only for the readers that are inside. What was
// read stays true. A plain reader that asks is answered would_deadlock: two of them would wait for each other for ever.
//
// Each step up or down gives a new hold with a larger token; hold() is the present one.
class MORTISE_API shared_mutex {
public:
    shared_mutex(client& locks, std::string_view name, claim_options options = {});
    ~shared_mutex();  // releases what is still locked through this object
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    // Writing: alone.
    void lock();
    void lock(std::error_code& ec);
    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;  // lost: the lease had ended; not_owner; unreachable

    // Reading: beside other readers.
    void lock_shared();
    void lock_shared(std::error_code& ec);
    bool try_lock_shared();
    bool try_lock_shared(std::error_code& ec);
    bool try_lock_shared_for(detail::any_duration wait);
    bool try_lock_shared_until(detail::any_time_point deadline);
    void unlock_shared() noexcept;
    void unlock_shared(std::error_code& ec) noexcept;

    // Reading, and perhaps writing later: beside readers, but not beside another of these.
    void lock_upgradeable();
    void lock_upgradeable(std::error_code& ec);
    bool try_lock_upgradeable();
    bool try_lock_upgradeable(std::error_code& ec);
    bool try_lock_upgradeable_for(detail::any_duration wait);
    bool try_lock_upgradeable_until(detail::any_time_point deadline);
    void unlock_upgradeable() noexcept;
    void unlock_upgradeable(std::error_code& ec) noexcept;

    // From an upgradeable read to a write, to be ended by unlock(). What fails leaves the read as it was; errc::lost: it
    // had ended, and somebody may have written.
    void upgrade();
    void upgrade(std::error_code& ec);
    bool try_upgrade();
    bool try_upgrade(std::error_code& ec);
    bool try_upgrade_for(detail::any_duration wait);

    // From a write to an upgradeable read, or from either to a plain read. Lets nobody in who would not fit beside it.
    void downgrade();
    void downgrade(std::error_code& ec);
    void downgrade_to_shared();
    void downgrade_to_shared(std::error_code& ec);

    // The handle form: holds that belong to no thread, movable and each on its own; for coroutines, and for whoever locks here
    // and unlocks there. What a thread has locked with the verbs above is not looked at. acquire waits for ever unless
    // how.wait says otherwise and throws mortise::error for every refusal; try_acquire answers a hold or a refusal, and does
    // not wait unless told.
    [[nodiscard]] mortise::hold acquire(const wait_options& how = {});
    [[nodiscard]] mortise::hold acquire_shared(const wait_options& how = {});
    [[nodiscard]] mortise::hold acquire_upgradeable(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire_shared(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire_upgradeable(const wait_options& how = {});

    // Never block: call `done` exactly once with the answer, as client::start does. Without how.wait they wait for ever. The
    // shared_mutex may be destroyed meanwhile.
    void start(const wait_options& how, client::completion done);
    void start_shared(const wait_options& how, client::completion done);
    void start_upgradeable(const wait_options& how, client::completion done);

    // One hold becomes another in one step: `config_hold = config.upgrade(config_hold)`. The answer is the new hold, and the
    // old handle holds nothing any more, as if released. What fails leaves it as it was; refused are not_owner (empty,
    // released, of another client or another lock), lost, would_deadlock (a plain read that wants more, or a second step
    // while one is under way), invalid_option (it is of that kind already). A hold that is released during the wait ends it.
    // A cancellation or a limit that meets the grant on its way does not undo it: then the answer is the new hold.
    [[nodiscard]] mortise::hold upgrade(const mortise::hold& reading, const wait_options& how = {});
    [[nodiscard]] attempt try_upgrade(const mortise::hold& reading, const wait_options& how = {});
    void start_upgrade(const mortise::hold& reading, const wait_options& how, client::completion done);
    [[nodiscard]] mortise::hold downgrade(const mortise::hold& writing);
    void start_downgrade(const mortise::hold& writing, client::completion done);
    [[nodiscard]] mortise::hold downgrade_to_shared(const mortise::hold& more);
    void start_downgrade_to_shared(const mortise::hold& more, client::completion done);

    // The calling thread's hold, in whichever way: token and validity. Throws errc::not_owner when it holds nothing.
    // Good until the next unlock, upgrade or downgrade.
    const mortise::hold& hold() const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
