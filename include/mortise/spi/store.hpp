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

// The interface that a store implements. A store answers claims; it knows nothing of mutexes, user threads or
// callbacks. Every store follows these rules:
//
//  1. Every function returns at once. It calls its reply exactly once if an answer arrives, from any thread, possibly
//     before it returns, and never while the store holds a mutex. If no answer arrives, the core repeats the request.
//  2. Every request is idempotent in the claim's id: a repeat gets the same answer as the first, while the claim lives
//     and for some seconds after it has ended. A claim that arrives after its own release is not granted.
//  3. "Unknown" is an answer: report a request that failed on the way as unknown, never guess.
//  4. A queued claim is granted later by events::granted, which may be lost, late or repeated, because the core repeats
//     the claim.
//  5. promises() says what the store cannot do; the core refuses such claims without a request to the store.
//  6. A request may arrive after its repeat was answered. If any request of a claim went unanswered, the core releases
//     that claim, whatever the other answers were; from then on the store rejects the late request, or ends what it
//     created (rule 2).
namespace spi {

using duration = std::chrono::nanoseconds;
using time_point = boot_clock::time_point;

template <class Answer>
using reply = unique_function<void(Answer)>;

// What a client and its store both know of one grant, and change without telling each other: one word. With it a client keeps the
// grant after an unlock, and takes it again without a request, until somebody else asks for the name.
//
//   from     who            to       meaning
//   busy     the client     idle     nobody is inside; the grant stays with the client
//   idle     the client     busy     it is inside again, with the next turn of the token
//   busy     store, client  wanted   somebody waits: the client releases at its next unlock, by a request
//   idle     store, client  gone     the claim is over, and nobody was inside
//   busy, wanted  the same  gone     the claim is over, and somebody may have been inside (events::lost tells)
//
// The store changes it under the lock that guards the claim, and the word before its record: from `idle` to `gone` for every
// request that the claim is in the way of, from `busy` to `wanted` when a claim begins to wait, to `gone` whenever the claim ends.
// Each change is a compare-and-swap. The word has the mark of the claim's id, so that no swap meets the word of another claim at the
// same place.
// The memory stays while the store lives.
struct grant_word {
    enum condition : std::uint64_t { busy, idle, wanted, gone };

    // A mark of 52 bits, the turn, the condition.
    static constexpr unsigned turn_shift = 2;
    static constexpr unsigned mark_shift = turn_shift + token::turn_bits;
    static constexpr std::uint64_t of(std::uint64_t mark, std::uint64_t turn, condition is) noexcept {
        return mark << mark_shift | turn << turn_shift | is;
    }
    static constexpr std::uint64_t mark_of(std::uint64_t value) noexcept { return value >> mark_shift; }
    static constexpr std::uint64_t mark_of(const claim_id& id) noexcept {
        return ((id.bits[0] * 0x9e3779b97f4a7c15u ^ id.bits[1]) >> mark_shift) | 1;
    }
    static constexpr std::uint16_t turn_of(std::uint64_t value) noexcept {
        return static_cast<std::uint16_t>(value >> turn_shift & token::most_turns);
    }
    static constexpr condition condition_of(std::uint64_t value) noexcept { return condition(value & 3); }
    static constexpr std::uint64_t with(std::uint64_t value, condition is) noexcept {
        return (value & ~std::uint64_t{3}) | is;
    }

    std::atomic<std::uint64_t> value{gone};
    std::atomic<duration::rep> since{0};  // of the present turn, on the client's clock
};

// A claim, as the core sends it to the store.
struct claim_request {
    std::string_view name;  // valid during the call only, as are all views here
    claim_id id;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    std::optional<duration> lease{};  // none: for the life of the process
    mortise::renew renew = mortise::renew::on;
    mortise::kept_by kept_by = mortise::kept_by::process;
    bool queue = false;                          // wait in the queue if it cannot be granted now
    mortise::order order = mortise::order::any;  // fifo: the caller requires strict order of arrival
    std::string_view label{};
    // A hold of the same client on the same name that this claim replaces in one step when it is granted (upgrade,
    // downgrade). It goes before the queue. Refused with errc::lost if that hold has ended, and with
    // errc::would_deadlock if another such claim is already waiting. If it is repeated without `queue` while it waits,
    // it leaves the queue and is answered busy in one step, so that the caller knows which of the two it holds. Zero:
    // none.
    claim_id instead_of{};
    // This client has just had the lock for as long as it may while others wait: they go first. A store with a queue need not
    // care; without one, do not let the claim follow the release at once.
    bool gives_way = false;
    unsigned replicas = 0;        // that must store the grant, and each renewal, before it counts
    std::uint32_t wait_slot = 0;  // of the caller that sleeps until the grant (see sleeper); 0: none
    bool keeps = false;           // the client would use a grant_word; a store need not have one
    // The client would keep the grant while it is idle, and give it up when it hears that somebody else asks (events::wanted).
    bool keeps_idle = false;
};

// A grant of the store.
struct grant {
    std::uint64_t counter = 0;        // the store's part of the token; 0: the store has no tokens
    std::optional<duration> lease{};  // as granted, which may differ from the requested one

    // A time on the client's clock that is not later than the grant in the store; the lease is counted from it. The
    // core takes the earlier of this and the time the request was sent. A pushed grant has no request, so the store
    // must set it correctly.
    time_point counted_from{};

    // If set, the grant lasts only this long until its first renewal; for a pushed grant, which may not reach its
    // client.
    std::optional<duration> grace{};

    // Of an exclusive claim that `keeps`: what the client may keep it by. None: it may not.
    grant_word* word = nullptr;

    // Of a claim that `keeps_idle`, granted at once: nobody waits, and events::wanted tells when somebody asks who does not fit
    // beside it.
    bool told = false;
};

// What the store knows about a claim that was not granted.
struct standing {
    std::optional<mortise::holder> holder{};
    std::optional<std::size_t> place{};  // in the queue; 1 is next; unset: not queued
    std::optional<duration> free_in{};   // time until the lock is free, at the latest, if nobody renews
};

// The answer to a claim.
struct claim_answer {
    enum class verdict {
        granted,
        queued,   // events::granted will follow
        busy,     // not granted and not queued
        refused,  // final: kind_mismatch, invalid, no permission, withdrawn
        unknown,  // it may or may not have happened; repeat it with the same id
    };
    verdict is = verdict::unknown;
    spi::grant grant{};
    spi::standing standing{};
    std::error_code reason{};
    std::string detail{};
    // Unknown, and an answer is unlikely soon: all servers refuse the connection, cannot be found, or speak another
    // protocol. Calls that do not wait may fail with it (client_options::try_patience).
    bool unreached = false;
    // Busy, but the holder may keep it idle, and hears of this or has heard before (events::wanted): worth asking again.
    bool kept = false;
};

// A request to renew the lease of a claim.
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

// A request to break the lock of the holder with this counter.
struct break_request {
    std::string_view name;
    std::uint64_t counter = 0;
    std::string_view note{};  // by whom and why, one line; for the store's record, if it keeps one
};

enum class break_answer {
    broken,
    not_held,  // somebody else holds the lock by now, or nobody
    unknown,
    unsupported,  // the store cannot take a lock from its holder
};

// Tokens that several stores give together (quorum_of). Each raises its own to the one that they agree on, and must know whether it
// has forgotten any: the next might then be smaller.
//
// A store's memory is whole if nothing is missing, or if it was told how large the tokens may be that it has forgotten. A store
// that has never been asked has a memory that is not whole. The version changes when the store has forgotten everything, and
// each time it vouches for others: what was begun before then does not count any more.
struct token_memory {
    claim_id version{};
    bool whole = false;
    std::uint64_t floor = 0;    // what it has forgotten is not larger
    std::uint64_t highest = 0;  // of the tokens that were raised here, and of the floor
};

// Asks for the memory, after `what` was done to it.
struct recall_request {
    enum class change {
        none,
        vouch,    // a whole memory gets a new version: it is about to be told to others
        restore,  // it becomes whole, with this floor, if it is not and has this version
    };
    change what = change::none;
    claim_id version{};
    std::uint64_t floor = 0;
};

// Makes the token of a hold larger.
struct raise_request {
    std::string_view name;
    claim_id id;
    std::uint64_t to = 0;
    claim_id version{};  // of the memory, as it was before the claim
};

struct raise_answer {
    enum class verdict {
        raised,  // also if it is repeated
        not_larger,
        lost,    // the claim does not hold the name
        forgot,  // the memory is another by now, or is not whole
        unknown,
        unsupported,
    };
    verdict is = verdict::unknown;
    std::uint64_t largest = 0;  // of this name, if not larger
};

using listed = held_lock;

// All held locks, or why they cannot be listed.
struct listing {
    std::error_code failed{};  // the store did not answer
    std::vector<listed> holds{};
    std::string detail{};  // why it failed, one line for people
    std::string next{};    // of a part: where the next one begins, in the store's own words; empty: this was the last
};

// What a store reports to the core, from any thread, without holding a mutex of its own; never before one of its
// functions was called.
class MORTISE_API events {
public:
    virtual ~events();
    virtual void granted(std::string_view name, const claim_id&, const grant&) = 0;  // a queued claim was granted
    virtual void lost(std::string_view name, const claim_id&) = 0;                   // broken, or revoked by the store
    // Somebody else asks for a claim that `keeps_idle`. May come early, twice, or not at all: it is kept for a while only.
    virtual void wanted(std::string_view name, const claim_id&);
    // The store was unreachable, or was replaced: the core renews all holds and repeats all waiting claims at once.
    virtual void reconnected();
};

// The environment of a store. It outlives the store.
struct context {
    spi::clock& clock;
    spi::events& events;
    std::string host;
    std::int64_t pid;
    bool strict = false;  // client_options::strict
};

// A caller that blocks until it is answered. A store can let it sleep where the store itself can wake it, without
// another thread in between.
struct MORTISE_API sleeper {
    enum state : int { awake, asleep, answered };

    std::atomic<int> is{awake};
    std::uint32_t wait_slot = 0;  // never 0; rarely shared by two sleepers
};

// A store of locks. See the rules above.
class MORTISE_API store {
public:
    virtual ~store();

    virtual const mortise::promises& promises() const noexcept = 0;

    virtual void claim(const claim_request&, reply<claim_answer>) = 0;

    // Renews several claims of a client. The answers have the order of the renewals.
    virtual void renew(std::span<const renewal>, reply<std::vector<renewal_answer>>) = 0;

    // Releases a grant, or leaves the queue.
    virtual void release(std::string_view name, const claim_id&, reply<release_answer>) = 0;

    // The longest time for which the store keeps a claim with this lease that is neither renewed nor released. The core
    // repeats a release for that long. None, the default: for the life of the client, because its session, or a lease
    // shared with other claims, keeps the claim; the core then repeats a release until it is answered.
    virtual std::optional<duration> keeps_abandoned(const std::optional<duration>& lease) const noexcept;

    // Lists all held locks, sorted by name.
    virtual void list(reply<listing>) = 0;

    // Lists some of them, in any order, so that a million need not be in memory, nor keep the store busy, all at once. `from`: empty, or
    // listing::next of the part before. A lock that is held meanwhile is in one of the parts, perhaps in two. The default lists all.
    virtual void list_part(std::string_view from, reply<listing>);

    // Breaks a lock: ends the hold, notifies the holder (events::lost), and makes the next token larger.
    virtual void break_hold(const break_request&, reply<break_answer>) = 0;

    // Raises the token of a hold, and with it all later ones of the name; only if it becomes larger. For stores that promise
    // raises_tokens, as is the next.
    virtual void raise_token(const raise_request&, reply<raise_answer>);

    // What it remembers of its tokens. None: no answer, or it cannot tell.
    virtual void recall_tokens(const recall_request&, reply<std::optional<token_memory>>);

    // Diagnoses the store: settings that weaken a promise, missing permissions, a full disk. The default finds nothing.
    virtual void check(reply<std::vector<finding>>);

    // For how long the store has been running, if it may have forgotten everything when it started. None, the default: it
    // cannot tell. Told anew after each events::reconnected.
    virtual void uptime(reply<std::optional<duration>>);

    // The statements that set up the store before its first use, in the store's own language. Empty: none are needed.
    virtual std::string schema() const;

    // True: the calling thread is about to send a request and to sleep until it is answered. False: no longer.
    virtual void will_sleep(bool whether) noexcept;
    // Blocks until `who` is woken. The store may use the thread meanwhile, for instance to read replies.
    virtual void sleep(sleeper& who);
    // Wakes a sleeper, from any thread, once, possibly before it sleeps.
    virtual void wake(sleeper& who) noexcept;

    // For a thread that waits for several stores at once. start_reading() lets it read what this one's servers send, and answers
    // a descriptor to poll; -1, the default, if other threads do. When it is readable, read_ready() reads; false: it cannot any
    // more, and may start again. stop_reading() lets others read; with `soon` not at once, since no answer is urgent and
    // this thread will be back.
    virtual int start_reading(const sleeper& who);
    virtual bool read_ready(const sleeper& who);
    virtual void stop_reading(const sleeper& who, bool soon) noexcept;

    // Closes the store: no reply and no event follows after it returns. Claims with kept_by::process may be dropped.
    // Never called inside a reply or an event; a second call does nothing.
    virtual void close() noexcept = 0;
};

using store_factory = std::function<std::unique_ptr<store>(const context&)>;

}  // namespace spi

}  // namespace mortise::inline v0
