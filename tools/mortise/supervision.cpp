#include "supervision.hpp"

#include "exit_codes.hpp"

#include <algorithm>

#include <signal.h>

namespace command {

using namespace std::chrono_literals;

auto supervision::grace(duration lease) -> duration {
    return std::min<duration>(lease / 5, 5s);
}

auto supervision::margin(duration lease) -> duration {
    return std::min<duration>(lease / 10, 1s);
}

auto supervision::finish(int code, bool release) -> orders {
    is_ = state::finished;
    return {.release = release, .finish = code};
}

auto supervision::granted(time_point now, time_point valid_until) -> orders {
    if (is_ != state::waiting) return {};
    if (leaving_) return finish(*leaving_, true);
    if (valid_until != time_point::max()) lease_ = valid_until - now;
    is_ = paused_ ? state::passed : state::running;
    return {.start = !paused_, .release = paused_};
}

auto supervision::refused(int code) -> orders {
    if (is_ != state::waiting) return {};
    return finish(leaving_.value_or(code), false);
}

// A stopped command hears none of those that end it before it is continued, and may stop again for want of the terminal.
auto supervision::signalled(int signal) -> orders {
    const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    if (is_ == state::running) {
        const reach to = code_ ? reach::all : reach::group;
        if (!ends) return {.send = {signal}, .to = to};
        if (signal != SIGHUP) ending_ = signal;  // which daemons take for a wish to read their configuration
        return {.send = {signal, SIGCONT}, .to = to};
    }
    if (!ends || is_ == state::finished) return {};
    if (is_ == state::passed) return finish(ended_by(signal), false);
    if (leaving_) return {};
    leaving_ = ended_by(signal);
    return {.withdraw = true};
}

auto supervision::paused() -> orders {
    paused_ = true;
    return {};
}

auto supervision::resumed() -> orders {
    paused_ = false;
    if (is_ != state::passed) return {};
    is_ = state::waiting;
    return {.claim = true};
}

auto supervision::wrapper_gone() -> orders {
    const int code = ended_by(SIGKILL);  // nobody is left to read it
    if (is_ == state::passed) return finish(code, false);
    if (is_ == state::waiting && !leaving_) {
        leaving_ = code;
        return {.withdraw = true};
    }
    if (is_ != state::running || killed_) return {};
    killed_ = true;
    return {.send = {SIGKILL}, .to = reach::all};
}

auto supervision::not_started(int code) -> orders {
    return is_ == state::running ? finish(code, true) : orders{};
}

// What the command was told to end for, it may have told those of its group only.
auto supervision::ended(int code, time_point now) -> orders {
    if (is_ != state::running || code_) return {};
    code_ = code;
    if (kept_by_ == kept_by::command && trouble_ == trouble::none && !killed_) return finish(code, true);
    remind_at_ = now + 5s;
    if (!ending_) return {};
    return {.send = {*ending_, SIGCONT}, .to = reach::others};
}

auto supervision::all_gone() -> orders {
    if (is_ != state::running || !code_) return {};
    return finish(trouble_ == trouble::none ? *code_ : static_cast<int>(exit_code::lost), true);
}

// Those that are stopped would not hear TERM, so they are continued too.
auto supervision::stop(trouble why, time_point kill_at) -> orders {
    trouble_ = why;
    kill_at_ = kill_at;
    return {.send = {SIGTERM, SIGCONT}, .to = reach::all, .tell = why};
}

auto supervision::lost(time_point now) -> orders {
    if (is_ != state::running || trouble_ != trouble::none) return {};
    return stop(trouble::lost, now + std::min<duration>(grace(lease_), 1s));
}

auto supervision::tick(time_point now, time_point valid_until) -> orders {
    if (is_ != state::running || killed_) return {};
    if (trouble_ == trouble::none && valid_until != time_point::max()) {
        if (valid_until <= now) return lost(now);
        if (valid_until - grace(lease_) <= now) return stop(trouble::lease_ends, valid_until - margin(lease_));
    }
    if (kill_at_ <= now) {
        killed_ = true;
        return {.send = {SIGKILL}, .to = reach::all};
    }
    if (remind_at_ > now) return {};
    remind_at_ = time_point::max();
    return {.remind = true};
}

auto supervision::next_look(time_point valid_until) const -> time_point {
    if (is_ != state::running || killed_) return time_point::max();
    if (trouble_ != trouble::none) return std::min(kill_at_, remind_at_);
    if (valid_until == time_point::max() || valid_until == time_point::min()) return std::min(valid_until, remind_at_);
    return std::min(valid_until - grace(lease_), remind_at_);
}

}  // namespace command
