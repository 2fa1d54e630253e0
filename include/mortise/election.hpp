// Leader election.
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

// A candidate in an election. Candidates for one name compete across all threads, processes and machines that use the
// same store; at most one leads at a time.
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
// A term is a hold of the name, like a mutex's: renewed while it lasts, with a token that is larger in every later
// term. A leader that is paused or cannot reach the store steps down by its own clock before the store elects the next
// one. It is not re-elected automatically: call campaign() again.
//
// Not promised: that a former leader has stopped working when the next one starts. is_leader() tells it at once, but
// what it sent before may still arrive late. Send term() with what the leader writes (fenced.hpp).
//
// `options.label` identifies this candidate to others (empty: the client's label). `options.lease` is how long it takes
// to replace a dead leader on stores that do not detect the death themselves. `options.wait` is ignored: the function
// called determines the wait. On stores with a queue, candidates are elected in order of arrival.
//
// All members may be called from any thread; one campaign at a time.
class MORTISE_API election {
public:
    election(client& locks, std::string_view name, claim_options options = {});  // throws like mutex
    ~election();                                                                 // resigns
    election(const election&) = delete;
    election& operator=(const election&) = delete;

    // Waits until this candidate leads; returns at once if it already does. Throws mortise::error, or sets `ec`:
    // cancelled (options.stop, or resign() meanwhile), busy (another thread is campaigning with this object),
    // unreachable, ...
    void campaign();
    void campaign(std::error_code& ec);

    // The same with a limit: return true if this candidate leads, and false if `stop` was requested or the time is up;
    // it has then left the queue. Other failures throw, or set `ec`. try_campaign does not wait; the others take any
    // std::chrono::duration or time_point.
    bool campaign(std::stop_token stop);
    bool try_campaign();
    bool try_campaign(std::error_code& ec);
    bool try_campaign_for(detail::any_duration wait);
    bool try_campaign_until(detail::any_time_point deadline);

    // Never blocks. Calls `done` exactly once, as client::start does: with nothing if this candidate leads, otherwise
    // with the refusal. Without how.wait the wait is unlimited. Destroying the election ends the campaign with
    // errc::cancelled.
    using completion = unique_function<void(std::optional<refusal>)>;
    void start_campaign(const wait_options& how, completion done);

    // Whether this candidate leads now. Reads the clock at each call, as hold::valid() does: false from the local
    // deadline on, even if no thread has run since.
    bool is_leader() const noexcept;

    // Until when it leads unless the term is renewed. time_point::max() for a term without a lease; time_point::min()
    // if it does not lead.
    boot_clock::time_point leader_until() const noexcept;

    // The fencing token of this candidate's latest term: larger than that of every earlier leader. Throws
    // errc::not_owner if it has not led or has resigned; errc::no_token if the store has no tokens.
    token term() const;

    // Requested when the current term is lost; never by resign(). Without a term, one that is already requested.
    std::stop_token lost() const;

    // Calls `fn` once when the current term is lost (at once if it is already), as hold::on_lost does. Each term has
    // its own callbacks. Throws errc::not_owner without a term.
    void on_lost(unique_function<void()> fn);

    // Ends the term, and any campaign of this candidate. The result is that of hold::release(): `expired` and
    // `taken_over` mean that the term was already over, `unknown` with errc::not_owner that there was none.
    release_result resign() noexcept;
    release_result resign(std::error_code& ec) noexcept;

    // The same without waiting, like hold::start_release.
    void start_resign(release_completion done);

    // The leader according to the store: host, pid, label and term (holder::token). Nothing: there is no leader. It
    // does not require a campaign. The answer may be out of date when it arrives: use it for display and routing, not
    // to decide who may write. It lists all names of the store, so do not call it in a tight loop. Throws, or sets
    // `ec`: unreachable, ...
    std::optional<holder> leader() const;
    std::optional<holder> leader(std::error_code& ec) const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::shared_ptr<body> body_;  // shared with a campaign that may outlive the election
};

}  // namespace mortise::inline v0
