// One leader at a time, and everybody may know who.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/boot_clock.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/token.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// A candidate in an election. Candidates of one name meet on the store, in whatever threads, processes or machines they are.
//
//     mortise::election scheduler{locks, "scheduler", {.label = "node 3"}};
//     scheduler.campaign();                            // waits until it leads
//     while (scheduler.is_leader()) plan_next_minute(scheduler.term());
//
//               campaign()                granted
//   follower --------------> candidate -----------> leader --- resign(), destroyed ---> follower
//      ^                        | cancelled,          |
//      +------------------------+ timed out           +--- lost: paused or cut off for longer than the lease ---> follower
//
// A term is a hold of the name, as a mutex takes it: renewed while it lasts, with a token that is larger in every later
// term. A leader that was paused or cannot reach the store steps down by the clock, before the store lets the next one in.
// It is not elected again by itself: campaign() again.
//
// Not promised: that a former leader has stopped working when the next one begins. It knows as soon as it looks at
// is_leader(); what it had begun before can still arrive late. Send term() with what the leader writes (fenced.hpp).
//
// `options.label` is what others see of this candidate (the client's if empty), `options.lease` how long a dead leader is
// waited for where the store does not notice the death itself. `options.wait` does not apply: the verbs say how long to wait.
// Candidates are elected in the order in which they came, where the store queues.
//
// All members may be called from any thread; one campaign at a time.
class MORTISE_API election {
public:
    election(client& locks, std::string_view name, claim_options options = {});  // throws as mutex does
    ~election();                                                                 // resigns
    election(const election&) = delete;
    election& operator=(const election&) = delete;

    // Waits until this candidate leads; returns at once if it does already. Throws mortise::error, or sets `ec`: cancelled
    // (options.stop, or resign() meanwhile), busy (another thread campaigns with this object), unreachable, ...
    void campaign();
    void campaign(std::error_code& ec);

    // True: it leads. False: `stop` was requested, or the wait ended; it is no longer in the queue. What else there is to
    // refuse is thrown, or told by `ec`.
    bool campaign(std::stop_token stop);
    bool try_campaign();
    bool try_campaign(std::error_code& ec);
    bool try_campaign_for(detail::any_duration wait);
    bool try_campaign_until(detail::any_time_point deadline);

    // Never blocks: calls `done` exactly once, as client::start does, with nothing when it leads and else with the refusal.
    // Without how.wait it waits for ever. Destroying the election ends the campaign; `done` is told cancelled.
    using completion = unique_function<void(std::optional<refusal>)>;
    void start_campaign(const wait_options& how, completion done);

    // **The truth.** Compares the clock itself, as hold::valid() does: false from the local deadline on, with no thread
    // having to run first.
    bool is_leader() const noexcept;

    // Until when, as of now. time_point::max() for a term without a lease; time_point::min() for no leader.
    boot_clock::time_point leader_until() const noexcept;

    // The number of this candidate's latest term: larger than that of every leader before. Throws errc::not_owner when it
    // has not led, or has resigned; errc::no_token where the store has none.
    token term() const;

    // Requested when the present term is lost; never by resign(). Without a term: one that is requested already.
    std::stop_token lost() const;

    // Calls `fn` once when the present term is lost (at once if it is already), as hold::on_lost does. Each term has
    // callbacks of its own; without a term it throws errc::not_owner.
    void on_lost(unique_function<void()> fn);

    // Lets the next candidate lead, and ends a campaign that is under way. The answer is hold::release()'s: `expired` and
    // `taken_over` say that the term was over before; `unknown` with errc::not_owner that there was none.
    release_result resign() noexcept;
    release_result resign(std::error_code& ec) noexcept;

    void start_resign(release_completion done);  // without waiting, as hold::start_release

    // Who leads, as the store sees it: host, pid, label and term (holder::token). Nothing: nobody does. Needs no campaign
    // and takes no part in one; out of date as soon as it is read, so it is for people and for routing, not for deciding
    // who may write. It reads all names of the store: not for tight loops. Throws, or sets `ec`: unreachable, ...
    std::optional<holder> leader() const;
    std::optional<holder> leader(std::error_code& ec) const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::shared_ptr<body> body_;  // shared with a campaign that may outlive the election
};

}  // namespace mortise::inline v0
