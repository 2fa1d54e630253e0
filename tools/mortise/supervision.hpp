// What the guardian of a command does, as a machine: news in, orders out. It knows no process, no store and no clock, so
// every turn of events can be tested.
//
//   waiting --granted--> running ---- the lease nears its end, or the lock is lost ----> told (TERM) --> killed (KILL)
//      |                   | the command ends; others of its group live: they keep the lock                |
//      | signal, refusal,  v                                                                               |
//      | wrapper gone     nothing of the group lives  <----------------------------------------------------+
//      v                   v
//   finished          release, then finished
//
// Two rules are never broken: the lock is released only when nothing of the group lives, and the group is killed before
// the lease ends, by the clock alone.
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

    // To be carried out in this order.
    struct orders {
        bool withdraw = false;    // the claim; its refusal (or grant) is still to come
        bool start = false;       // the command
        std::vector<int> send{};  // signals to its group
        trouble tell = trouble::none;
        bool release = false;
        std::optional<int> finish{};  // with this code
    };

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
    orders ended(int code);
    orders group_empty();

    // When tick() has something to do, if nothing happens before. time_point::max(): never.
    time_point next_look(time_point valid_until) const;

    bool started() const { return is_ == state::running; }
    bool leader_gone() const { return code_.has_value(); }

private:
    enum class state { waiting, ready, running, finished };

    orders stop(trouble why, time_point kill_at);
    orders finish(int code, bool release);

    state is_ = state::waiting;
    bool paused_ = false;           // the job was stopped before the grant came
    std::optional<int> leaving_{};  // the code to end a wait with, once the claim is withdrawn
    duration lease_ = duration::max();
    trouble trouble_ = trouble::none;
    time_point kill_at_ = time_point::max();
    bool killed_ = false;
    std::optional<int> code_{};
};

}  // namespace command
