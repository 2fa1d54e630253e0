// What the guardian of a command does, as a machine: news in, orders out. It knows no process, no store and no clock, so
// every turn of events can be tested.
//
//   waiting --granted--> running ---- the lease nears its end, or the lock is lost ----> told (TERM) --> killed (KILL)
//    | ^  |                | the command ends; what it started lives: that keeps the lock                  |
//    | |  | signal,        v                                                                               |
//    | |  | refusal,      nothing that it started lives  <-------------------------------------------------+
//    | |  | wrapper gone   v
//    | |  +-> finished    release, then finished
//    | |
//    | +--the job goes on---+
//    +--granted while the job is stopped--> passed: the lock is given back, the next one has its turn
//
// Two rules are never broken: the lock is released only when nothing that the command started lives (unless it was told to be
// content with the end of the command itself), and all of that is killed before the lease ends, by the clock alone.
#pragma once

#include <mortise/boot_clock.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace command {

class supervision {
public:
    using time_point = mortise::boot_clock::time_point;
    using duration = std::chrono::nanoseconds;

    // Why the command was stopped.
    enum class trouble { none, lease_ends, lost };

    // What keeps the lock: everything that the command started, or the command alone. Before a loss, all of it is ended.
    enum class kept_by { all, command };

    // Who is meant by a signal: the command's process group, or all that it started, or only what of that is in other groups.
    enum class reach { group, all, others };

    // To be carried out in this order.
    struct orders {
        bool withdraw = false;    // the claim; its refusal (or grant) is still to come
        bool start = false;       // the command
        std::vector<int> send{};  // signals
        reach to = reach::group;
        trouble tell = trouble::none;
        bool remind = false;          // that the command has ended and something still keeps the lock
        bool release = false;         // if nothing is to be finished, only to claim it again later
        bool claim = false;           // again
        std::optional<int> finish{};  // with this code
    };

    explicit supervision(kept_by what = kept_by::all) : kept_by_(what) {}

    // How long before the end of a lease of this length the command is told to stop, and killed.
    static duration grace(duration lease);
    static duration margin(duration lease);

    orders granted(time_point now, time_point valid_until);
    orders refused(int code);
    orders lost(time_point now);
    orders tick(time_point now, time_point valid_until);

    // From the wrapper.
    orders signalled(int signal);
    orders paused();
    orders resumed();
    orders wrapper_gone();

    // From the command. `code` is its exit status, or 128 and the signal.
    orders not_started(int code);
    orders ended(int code, time_point now);
    orders all_gone();

    // When tick() has something to do, if nothing happens before. time_point::max(): never.
    time_point next_look(time_point valid_until) const;

    bool started() const { return is_ == state::running; }
    bool command_ended() const { return code_.has_value(); }
    // Killed, and not all gone: to be killed again, as what was being forked may have been missed.
    bool killing() const { return is_ == state::running && killed_; }

private:
    enum class state { waiting, passed, running, finished };

    orders stop(trouble why, time_point kill_at);
    orders finish(int code, bool release);

    kept_by kept_by_;
    state is_ = state::waiting;
    bool paused_ = false;           // the job is stopped; only waits mind
    std::optional<int> leaving_{};  // the code to end a wait with, once the claim is withdrawn
    duration lease_ = duration::max();
    trouble trouble_ = trouble::none;
    time_point kill_at_ = time_point::max();
    bool killed_ = false;
    std::optional<int> ending_{};  // the last signal that was meant to end the command
    std::optional<int> code_{};
    time_point remind_at_ = time_point::max();
};

}  // namespace command
