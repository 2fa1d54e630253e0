// What a store author implements.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/claim.hpp>
#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/promises.hpp>
#include <mortise/raw_limits.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mortise::inline v0 {

// A store answers claims and nothing else: it knows no mutexes, threads or callbacks. The rules every store obeys:
//
//  1. Every verb returns at once. Its reply is called exactly once if an answer arrives, from any thread, possibly
//     before the verb returns; never with a lock of the store's held. No answer is fine too: the core asks again.
//  2. Every verb is idempotent in the claim's id: a repeat is answered as the first was, while the claim lives and for
//     some seconds after it ended. A claim that arrives after its own release is not granted.
//  3. "Unknown" is an answer: a request that failed on the way is reported as such, never guessed.
//  4. A waiting claim is granted later by events::granted, which may be lost, late or repeated: the core asks again.
//  5. What the store cannot do stands in promises(), and the core refuses it before the store is asked.
//  6. A request may arrive after its repeat was answered. Whatever that answer was, the core releases a claim of which any
//     request went unanswered; from then on the store keeps the late one out, or ends what it left (rule 2).
namespace spi {

using duration = std::chrono::nanoseconds;
using time_point = boot_clock::time_point;

template <class Answer>
using reply = unique_function<void(Answer)>;

struct claim_request {
    std::string_view name;  // valid during the call only, as are all views here
    claim_id id;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    std::optional<duration> lease{};  // none: lasts while the process does
    mortise::renew renew = mortise::renew::on;
    mortise::kept_by kept_by = mortise::kept_by::process;
    bool queue = false;                          // wait in line if it cannot be granted now
    mortise::order order = mortise::order::any;  // fifo: the caller demands strict order of arrival
    std::string_view label{};
    // A hold of the same client on the same name, which this claim takes the place of in one step when it is granted
    // (upgrade, downgrade). It goes before the queue. Refused with errc::lost if that hold has ended, and with
    // errc::would_deadlock if another such claim waits already. Asked again without `queue` while it waits, it leaves the
    // line and is answered busy, in one step: so the caller knows which of the two it holds. Zero: none.
    claim_id instead_of{};
    unsigned replicas = 0;        // that must have the grant, and each renewal, before it counts
    std::uint32_t wait_slot = 0;  // of the caller that sleeps until it is granted (see sleeper); 0: nobody does
};

struct grant {
    std::uint64_t counter = 0;        // the store's part of the token; 0 where it has none
    std::optional<duration> lease{};  // as given, which may differ from the one asked for

    // An instant on the client's clock that is not later than the store's granting. The core takes the earlier of
    // this and the sending of the request; a pushed grant has no request, so there it is the store's duty.
    time_point counted_from{};

    // Set: until its first renewal it lasts only so long. For a push, which may reach nobody.
    std::optional<duration> grace{};
};

// How things stand for a claim that was not granted.
struct standing {
    std::optional<mortise::holder> holder{};
    std::optional<std::size_t> place{};  // in the queue, 1 is next; unset: not queued
    std::optional<duration> free_in{};   // at the latest, if nobody renews
};

struct claim_answer {
    enum class verdict {
        granted,
        queued,   // events::granted will follow
        busy,     // not granted, and not in the queue
        refused,  // final: kind_mismatch, invalid, no rights, withdrawn
        unknown,  // it may or may not have happened; ask again with the same id
    };
    verdict is = verdict::unknown;
    spi::grant grant{};
    spi::standing standing{};
    std::error_code reason{};
    std::string detail{};
    // Unknown, and it will hardly be answered soon: all that can be asked refuse the connection, are not to be found, or speak
    // another protocol. A call that does not wait may end with that (client_options::try_patience).
    bool unreached = false;
};

struct renewal {
    std::string_view name;
    claim_id id;
    duration lease{};
};

enum class renewal_answer { renewed, lost, unknown };

enum class release_answer {
    released,    // also: left the queue
    expired,     // no such claim, and nobody holds the name
    taken_over,  // no such claim, and somebody else holds the name
    unknown,
};

// To take a lock away from whoever holds it with that counter.
struct break_request {
    std::string_view name;
    std::uint64_t counter = 0;
    std::string_view note{};  // who and why, one line; for the store's record, where it keeps one
};

enum class break_answer {
    broken,
    not_held,  // somebody else holds it by now, or nobody
    unknown,
};

using listed = held_lock;

struct listing {
    std::error_code failed{};  // the store gave no answer
    std::vector<listed> holds{};
    std::string detail{};  // why it failed, one line for people
};

// Pushed by the store, from any thread, with no lock of the store's held; never before its first verb was called.
class MORTISE_API events {
public:
    virtual ~events();
    virtual void granted(std::string_view name, const claim_id&, const grant&) = 0;  // a queued claim's turn has come
    virtual void lost(std::string_view name, const claim_id&) = 0;                   // taken away: broken, revoked
    // The store was out of reach, or is another one now: what is held is to be renewed and what waits asked again, at once.
    virtual void reconnected();
};

// What a store is opened with; all of it outlives the store.
struct context {
    spi::clock& clock;
    spi::events& events;
    std::string host;
    std::int64_t pid;
    bool strict = false;  // client_options::strict
};

// A caller that blocks until it is answered. Stores whose holders meet in memory let it sleep where they can wake it
// themselves, without a detour over another thread of its process.
struct MORTISE_API sleeper {
    enum state : int { awake, asleep, answered };

    std::atomic<int> is{awake};
    std::uint32_t wait_slot = 0;  // never 0; two sleepers rarely have the same
};

class MORTISE_API store {
public:
    virtual ~store();

    virtual const mortise::promises& promises() const noexcept = 0;

    virtual void claim(const claim_request&, reply<claim_answer>) = 0;

    // All due renewals of a client in one call; as many answers, in the same order.
    virtual void renew(std::span<const renewal>, reply<std::vector<renewal_answer>>) = 0;

    // Gives a grant back, or leaves the queue.
    virtual void release(std::string_view name, const claim_id&, reply<release_answer>) = 0;

    // How long the store keeps a claim with this lease that is neither renewed nor released, at most. The core repeats a
    // release for that long. None, the default: for as long as the client lives, because its session keeps the claim, or a
    // lease that other claims share; then a release is repeated until it is answered.
    virtual std::optional<duration> keeps_abandoned(const std::optional<duration>& lease) const noexcept;

    // Who holds what, by name.
    virtual void list(reply<listing>) = 0;

    // Takes the lock away, tells the holder (events::lost) and raises the next token.
    virtual void break_hold(const break_request&, reply<break_answer>) = 0;

    // What an operator should know of this store: settings that weaken a promise, missing rights, a full disk. The default
    // finds nothing.
    virtual void check(reply<std::vector<finding>>);

    // What has to be set up in the store before it is used, in the store's own language. Empty: nothing.
    virtual std::string schema() const;

    // What this store costs without us (see raw_limits.hpp): at least one limit of kind `lock` or `trips` and one of kind
    // `turns`, on connections of their own. Does not connect. What it answers may outlive the store.
    virtual mortise::raw_limits raw_limits() const = 0;

    // The calling thread is about to ask something and to sleep until it is answered; or no longer.
    virtual void will_sleep(bool whether) noexcept;
    // Returns once `who` was woken; the store may use the thread meanwhile to look for what it waits for.
    virtual void sleep(sleeper& who);
    // From any thread, once per sleeper, perhaps before it sleeps.
    virtual void wake(sleeper& who) noexcept;

    // No reply and no event after this returns. Claims kept by the process may be dropped. Never called from inside a
    // reply or an event; a second call does nothing.
    virtual void close() noexcept = 0;
};

using store_factory = std::function<std::unique_ptr<store>(const context&)>;

}  // namespace spi

}  // namespace mortise::inline v0
