// The client: one process's connection to the store where the locks live.
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
#include <mortise/raw_limits.hpp>
#include <mortise/unique_function.hpp>
#include <mortise/watching.hpp>

#include <chrono>
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

struct client_options {
    // Lease of claims that name none. Unset: the store's default.
    std::optional<std::chrono::nanoseconds> lease{};

    // Shown to whoever finds a lock taken; at most 200 bytes. Empty: the program's name.
    field<std::string> label{};

    // Refuse to construct where the store has no fencing tokens.
    bool require_token = false;

    // Refuse to claim where the store is set up in a way that breaks a promise (errc::unsupported says which).
    bool strict = false;

    // Of claims that name none.
    mortise::durability durability{};

    // Turns that callers of this process may take in a row on one grant of the store, so that other processes are not
    // starved. 0 or 1: no hand-over, the store is asked every time.
    unsigned hand_over_turns = 16;

    // How much earlier than the store a hold ends for its owner: a share of the lease, for clocks that run at
    // different speeds, and a fixed part.
    double drift = 0.01;
    std::chrono::nanoseconds margin = std::chrono::milliseconds{2};

    // A request without an answer is repeated, with the same id, after `reply_timeout`; a call whose requests stay
    // without an answer for `patience` fails with errc::unreachable. One that waits in a line asks again every `patience`
    // at the latest: it may take twice as long until that is noticed.
    std::chrono::nanoseconds reply_timeout = std::chrono::seconds{1};
    std::chrono::nanoseconds patience = std::chrono::seconds{10};

    // Of calls that do not wait (try_, a wait of zero): how long a request is repeated where nobody is to be reached: the
    // connection is refused, the host is not known, it speaks another protocol. Zero: that is the answer. Unset: `patience`,
    // which a request that may still be answered has in any case.
    std::optional<std::chrono::nanoseconds> try_patience{};

    // How long release() and the destructor of a hold wait for the store, and ~client() for all of them together.
    std::chrono::nanoseconds release_wait = std::chrono::seconds{1};
    std::chrono::nanoseconds close_wait = std::chrono::milliseconds{250};

    field<std::shared_ptr<mortise::observer>> observer{};
};

// Cheap to use from many threads at once; one client per process and store is enough. The constructor only reads
// the URL (errors: bad_url, unknown_store, no_token, invalid_option); it connects when first used.
//
// Threads: at most two, started when first needed: one renews and keeps time, one runs user callbacks. On ZooKeeper there are
// three more: two of its C client's, and one that begins and ends them.
//
// The destructor answers waiting calls with errc::closed, releases what is still held (kept_by::lease excepted) and
// waits at most `close_wait` for that and for callbacks under way; callbacks that take longer end after it. Holds,
// mutexes and guards may outlive it: they answer `closed`. A client that was moved from may only be destroyed or
// assigned to.
//
// After fork, every call in the child answers errc::forked and touches no lock of the parent's; what the child
// inherited is leaked, not closed. A child that wants locks makes a client of its own.
class MORTISE_API client {
public:
    explicit client(std::string_view store_url, client_options options = {});
    // On the store that MORTISE_STORE names in the environment; host: if it is not set. Throws bad_url if it is set and empty:
    // a variable that got lost must not become a lock of this machine alone.
    explicit client(client_options options = {});
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    // A hold or a refusal. Does not wait unless options.wait says so. Busy, timed out, cancelled, unreachable and
    // the like are refusals; only invalid arguments throw (invalid_name, invalid_option).
    [[nodiscard]] attempt try_acquire(std::string_view name, const claim_options& options = {});

    // A hold. Waits for ever unless options.wait says otherwise, and throws mortise::error for every refusal; the
    // second form sets `ec` and answers an empty hold.
    [[nodiscard]] hold acquire(std::string_view name, const claim_options& options = {});
    [[nodiscard]] hold acquire(std::string_view name, const claim_options& options, std::error_code& ec);

    // The primitive under everything above: never blocks, and calls `done` exactly once with the answer, on the notifier
    // thread; on the thread at hand where there is none (after fork, or when the machine has no thread to give). What it
    // throws is swallowed. options.wait unset: waits for ever. Throws only for invalid arguments (an empty `done` is
    // one), before `done` is taken.
    using completion = unique_function<void(attempt)>;
    void start(claim wanted, completion done);

    // Releases a claim by its id, from anywhere: how a script ends a detached claim. An id that is not a claim of
    // this name releases nothing.
    release_result release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept;

    // The same without waiting, as start.
    void start_release(std::string_view name, const claim_id& id, release_completion done);

    // Extends a claim by its id, from anywhere, to `lease` from now; never shortens it. False: it has ended (errc::lost), or
    // the store did not say (`ec` tells why).
    bool renew(std::string_view name, const claim_id& id, std::chrono::nanoseconds lease, std::error_code& ec) noexcept;

    // Who holds what on this store, by name; everybody's, not just this client's. Waits at most `patience` for the answer;
    // start_list does not wait, and calls back as start does.
    [[nodiscard]] std::vector<held_lock> list();
    [[nodiscard]] std::vector<held_lock> list(std::error_code& ec);
    void start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done);

    // Calls `changed` with what list() would answer, now and whenever it has changed, until the handle is destroyed. Looks
    // a few times a second, so what came and went in between is not seen, and a change of held_for or lease_left alone is
    // none. With an error the locks are those seen last; the next good answer follows as soon as there is one. `name`: that lock only;
    // empty: all of them. Runs on the notifier thread, one call at a time; what it throws is swallowed.
    using change = unique_function<void(const std::vector<held_lock>& locks, std::error_code failed)>;
    [[nodiscard]] watching watch(std::string_view name, change changed);

    // Takes the lock away from whoever holds it with this token (its counter is compared, not the turn) and tells them:
    // their hold is lost, and the next one's token is larger. For operators: whoever held it may still be working.
    // `why`, at most 200 bytes, goes into the store's record, where it keeps one. False: somebody else holds it by now, or
    // nobody.
    bool break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec);

    // What an operator should know of this store, each with its remedy.
    [[nodiscard]] std::vector<finding> check(std::error_code& ec);

    // What has to be set up in the store before it is used, in the store's own language. Empty: nothing.
    [[nodiscard]] std::string schema() const;

    const mortise::promises& promises() const noexcept;

    // The bare primitives of this store, for measuring beside them. Touches nothing until one is opened.
    mortise::raw_limits raw_limits() const;

    // The address as given, secrets masked.
    const std::string& store() const noexcept;

private:
    friend struct core::access;
    explicit client(std::shared_ptr<core::engine> made);
    void leave() noexcept;

    std::shared_ptr<core::engine> engine_;
    std::shared_ptr<core::reentry> frames_;  // who is inside which mutex
};

}  // namespace mortise::inline v0
