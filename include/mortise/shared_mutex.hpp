// A distributed std::shared_mutex, with read locks that can be upgraded.
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

// A readers-writer lock: many readers or one writer across all threads, processes and machines that use the same store.
//
//     mortise::shared_mutex config{locks, "config"};
//     { std::shared_lock reading{config}; ... }     // together with other readers
//     { std::scoped_lock writing{config}; ... }     // exclusive
//
// Like std::shared_timed_mutex it is Lockable, SharedLockable and their timed forms. What mutex.hpp says about loss,
// failure, nesting and unlocking applies here too. A thread holds a name in one mode at a time: locking it again in any
// mode fails with would_deadlock.
//
// Order: first come, first served. Readers that arrive after a waiting writer wait behind it, so readers cannot starve
// writers; consecutive readers are granted together.
//
// An **upgradeable** read lock is compatible with plain read locks, but only one can be held at a time. It is the only
// lock that can be upgraded to a write lock without being released in between: upgrade() precedes all waiters and waits
// only for the current readers, so what was read stays valid. An upgrade of a plain read lock fails with
// would_deadlock, because two of them would wait for each other for ever.
//
// Each upgrade or downgrade yields a new hold with a larger token; hold() returns the current one.
class MORTISE_API shared_mutex {
public:
    shared_mutex(client& locks, std::string_view name, claim_options options = {});
    ~shared_mutex();  // releases every hold that was locked through this object
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    // Write lock: exclusive. As with mutex, the try_ forms return false if the lock is busy, and unlock sets `ec` to
    // lost (the lease had expired), not_owner or unreachable.
    void lock();
    void lock(std::error_code& ec);
    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;

    // Read lock: shared with other readers.
    void lock_shared();
    void lock_shared(std::error_code& ec);
    bool try_lock_shared();
    bool try_lock_shared(std::error_code& ec);
    bool try_lock_shared_for(detail::any_duration wait);
    bool try_lock_shared_until(detail::any_time_point deadline);
    void unlock_shared() noexcept;
    void unlock_shared(std::error_code& ec) noexcept;

    // Upgradeable read lock: shared with readers, but not with another upgradeable one.
    void lock_upgradeable();
    void lock_upgradeable(std::error_code& ec);
    bool try_lock_upgradeable();
    bool try_lock_upgradeable(std::error_code& ec);
    bool try_lock_upgradeable_for(detail::any_duration wait);
    bool try_lock_upgradeable_until(detail::any_time_point deadline);
    void unlock_upgradeable() noexcept;
    void unlock_upgradeable(std::error_code& ec) noexcept;

    // Upgrades an upgradeable read lock to a write lock, which unlock() releases. If it fails, the read lock is
    // unchanged. errc::lost: the lease had expired, and somebody may have written. errc::unreachable: the store may
    // have made the exchange, so the read lock may be lost later; hold().valid() tells the truth.
    void upgrade();
    void upgrade(std::error_code& ec);
    bool try_upgrade();
    bool try_upgrade(std::error_code& ec);
    bool try_upgrade_for(detail::any_duration wait);

    // Downgrade a write lock to an upgradeable read lock, or either of them to a plain read lock. Only compatible
    // waiters are granted. While it is under way, and if the store does not answer, the old hold is not valid: others
    // may be inside.
    void downgrade();
    void downgrade(std::error_code& ec);
    void downgrade_to_shared();
    void downgrade_to_shared(std::error_code& ec);

    // The handle form: movable holds that belong to no thread, for coroutines and for code that locks and unlocks in
    // different places. It ignores what a thread has locked with the functions above. acquire waits for ever unless
    // how.wait is set, and throws mortise::error if refused. try_acquire returns a hold or a refusal, and does not wait
    // unless how.wait is set.
    [[nodiscard]] mortise::hold acquire(const wait_options& how = {});
    [[nodiscard]] mortise::hold acquire_shared(const wait_options& how = {});
    [[nodiscard]] mortise::hold acquire_upgradeable(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire_shared(const wait_options& how = {});
    [[nodiscard]] attempt try_acquire_upgradeable(const wait_options& how = {});

    // Never block. Call `done` exactly once with the result, as client::start does. Without how.wait the wait is
    // unlimited. The shared_mutex may be destroyed meanwhile.
    void start(const wait_options& how, client::completion done);
    void start_shared(const wait_options& how, client::completion done);
    void start_upgradeable(const wait_options& how, client::completion done);

    // Exchange one hold for another in one step: `config_hold = config.upgrade(config_hold)`. The result is the new
    // hold, and the old handle is empty, as if released. If the exchange fails, the old hold is unchanged; but after
    // unreachable the store may have made it (see above), and until that is known the next one is unreachable, too.
    // Errors: not_owner (the hold is empty, released, or of another client or lock), lost, would_deadlock (upgrade of
    // a plain read lock, or another exchange of this hold is pending), invalid_option (already of that mode). Releasing
    // the hold ends the wait. A cancellation or timeout that comes after the grant has no effect: the result is the new
    // hold.
    [[nodiscard]] mortise::hold upgrade(const mortise::hold& reading, const wait_options& how = {});
    [[nodiscard]] attempt try_upgrade(const mortise::hold& reading, const wait_options& how = {});
    void start_upgrade(const mortise::hold& reading, const wait_options& how, client::completion done);
    [[nodiscard]] mortise::hold downgrade(const mortise::hold& writing);
    void start_downgrade(const mortise::hold& writing, client::completion done);
    [[nodiscard]] mortise::hold downgrade_to_shared(const mortise::hold& more);
    void start_downgrade_to_shared(const mortise::hold& more, client::completion done);

    // The calling thread's hold in any mode, with its token and validity. Throws errc::not_owner if this thread does
    // not hold the lock. The reference is valid until the next unlock, upgrade or downgrade.
    const mortise::hold& hold() const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
