// A process's connection to a store.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/boot_clock.hpp>
#include <mortise/claim.hpp>
#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/field.hpp>
#include <mortise/finding.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/observer.hpp>
#include <mortise/promises.hpp>
#include <mortise/unique_function.hpp>
#include <mortise/watch.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mortise::inline v0 {

namespace core {
class engine;
class reentry;
struct access;
}  // namespace core

// Options of a client, and defaults for its claims.
struct client_options {
    // Lease of claims that set none. Unset: the store's default.
    std::optional<std::chrono::nanoseconds> lease{};

    // Shown to callers that find a lock held; at most 200 bytes. Empty: the program's name.
    field<std::string> label{};

    // Throw errc::no_token from the constructor if the store has no fencing tokens.
    bool require_token = false;

    // Refuse claims with errc::unsupported if the store's configuration breaks one of its promises; the message says
    // which.
    bool strict = false;

    // Durability of claims that set none.
    mortise::durability durability{};

    // How many callers of this process may hold the lock in a row on one grant of the store before other processes get
    // a turn. 0 or 1: no hand-over; every lock is a request to the store.
    unsigned hand_over_turns = 16;

    // Whether locks are kept for a while after their unlock; for claims that set none. The default asks the store each time.
    mortise::keep keep = mortise::keep::off();

    // How much earlier a hold expires for its owner than in the store: a fraction of the lease, for clocks that run at
    // different speeds, plus a fixed margin.
    double drift = 0.01;
    std::chrono::nanoseconds margin = std::chrono::milliseconds{2};

    // A request without a reply is repeated, with the same id, after `reply_timeout`. A call fails with
    // errc::unreachable when its requests have had no reply for `patience`. A queued claim is repeated at least every
    // `patience`, so it may take twice as long to fail.
    std::chrono::nanoseconds reply_timeout = std::chrono::seconds{1};
    std::chrono::nanoseconds patience = std::chrono::seconds{10};

    // How long calls that do not wait (try_ functions, a wait of zero) retry while the server is not there: the
    // connection is refused, the host is unknown, or it speaks another protocol. Zero: fail at once. Unset: `patience`.
    // A request that may still be answered always has `patience`.
    std::optional<std::chrono::nanoseconds> try_patience{};

    // How long release() and the destructor of a hold wait for the store's answer, and how long ~client() waits for all
    // of them together.
    std::chrono::nanoseconds release_wait = std::chrono::seconds{1};
    std::chrono::nanoseconds close_wait = std::chrono::milliseconds{250};

    // Notified of every event of this client's locks.
    field<std::shared_ptr<mortise::observer>> observer{};
};

// A process's connection to a store. All members are thread-safe; one client per process and store is enough. The
// constructor only parses the URL (errors: bad_url, unknown_store, no_token, invalid_option); the client connects when
// it is first used.
//
// Threads: at most two, started when first needed. The io thread renews leases and runs timers, the notifier thread
// runs user callbacks. On ZooKeeper there are three more: two of its C client, and one that opens and closes its
// sessions.
//
// The destructor fails pending calls with errc::closed, releases all holds (except those with kept_by::lease), and
// waits at most `close_wait` for that and for running callbacks; longer callbacks finish later. Holds, mutexes and
// guards may outlive the client; their functions then fail with errc::closed. A moved-from client may only be destroyed
// or assigned to.
//
// After fork(), every call in the child fails with errc::forked and affects no lock of the parent; what the child
// inherited is leaked, not closed. A child that needs locks creates its own client.
class MORTISE_API client {
public:
    // For the store with this URL, like "redis://10.0.0.5" or "host:".
    explicit client(std::string_view store_url, client_options options = {});
    // For the store in the environment variable MORTISE_STORE, or host: if it is not set. Throws bad_url if it is set
    // but empty, because a lost setting must not turn into locks of this machine only.
    explicit client(client_options options = {});
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    // Returns a hold or a refusal (busy, timed out, cancelled, unreachable, ...). Does not wait unless options.wait is
    // set. Only invalid arguments throw (invalid_name, invalid_option).
    [[nodiscard]] attempt try_acquire(std::string_view name, const claim_options& options = {});

    // Waits until the claim is granted; for ever, unless options.wait is set. Throws mortise::error if refused; the
    // second form sets `ec` and returns an empty hold.
    [[nodiscard]] hold acquire(std::string_view name, const claim_options& options = {});
    [[nodiscard]] hold acquire(std::string_view name, const claim_options& options, std::error_code& ec);

    // Never blocks. Calls `done` exactly once with the result, on the notifier thread, or on the completing thread if
    // the notifier cannot run (after fork, or if no thread can be started). Exceptions of `done` are ignored. Without
    // options.wait the wait is unlimited. Throws only for invalid arguments, including an empty `done`; then `done` is
    // not called. All functions above are built on this one.
    using completion = unique_function<void(attempt)>;
    void start(claim wanted, completion done);

    // Releases a claim by its id, from any process: this is how a script releases a detached claim. An id that is not a
    // claim on this name releases nothing.
    release_result release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept;

    // The same without waiting, like start.
    void start_release(std::string_view name, const claim_id& id, release_completion done);

    // Renews a claim by its id, from any process: it then lasts for `lease` from now, and is never shortened. Returns
    // false if the claim has ended (errc::lost) or the store did not answer (`ec` tells why).
    bool renew(std::string_view name, const claim_id& id, std::chrono::nanoseconds lease, std::error_code& ec) noexcept;

    // All locks held in this store by any client, sorted by name. Waits at most `patience` for the next of them. start_list
    // does not wait and calls `done` as start does, after at most `patience`.
    [[nodiscard]] std::vector<held_lock> list();
    [[nodiscard]] std::vector<held_lock> list(std::error_code& ec);
    void start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done);

    // The same for stores with very many: calls `part` with some at a time, in any order, and keeps none of them. A lock that changes hands
    // meanwhile may be in two parts. After an error there may be more.
    using some_locks = std::function<void(std::vector<held_lock> some)>;
    void list_in_parts(const some_locks& part, std::error_code& ec);
    void list_in_parts(const some_locks& part);

    // Calls `changed` with the result of list(), now and after every change, until the handle is destroyed. The store
    // is polled a few times a second, so a lock held only briefly may be missed; held_for and lease_left alone do not
    // count as a change. On an error, `locks` are those seen last, and the next good result follows. `name`: that lock
    // only; empty: all. Runs on the notifier thread, one call at a time; its exceptions are ignored.
    using change = unique_function<void(const std::vector<held_lock>& locks, std::error_code failed)>;
    [[nodiscard]] mortise::watch watch(std::string_view name, change changed);

    // Breaks the lock of the holder with this token (its counter is compared, not its turn): the hold is lost, its
    // owner is notified, and the next token is larger. For operators; the former holder may still be working. `why`, at
    // most 200 bytes, goes into the store's record, if it keeps one. Returns false if somebody else holds the lock by
    // now, or nobody.
    bool break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec);

    // Diagnoses the store: what an operator should know or mend, each finding with its remedy.
    [[nodiscard]] std::vector<finding> check(std::error_code& ec);

    // The statements that set up the store before its first use, in the store's own language. Empty: none are needed.
    [[nodiscard]] std::string schema() const;

    // What this store promises.
    const mortise::promises& promises() const noexcept;

    // The store's URL as given, with secrets masked.
    const std::string& store() const noexcept;

    // Whether this process is a child of the one that created the client: every call then fails with errc::forked.
    bool forked() const noexcept;

private:
    friend struct core::access;
    explicit client(std::shared_ptr<core::engine> made);
    void leave() noexcept;

    std::shared_ptr<core::engine> engine_;
    std::shared_ptr<core::reentry> frames_;  // who is inside which mutex
};

}  // namespace mortise::inline v0
