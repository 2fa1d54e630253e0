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
    return std::min<duration>(lease / 20, 500ms);
}

auto supervision::finish(int code, bool release) -> orders {
    is_ = state::finished;
    return {.release = release, .finish = code};
}

auto supervision::granted(time_point now, time_point valid_until) -> orders {
    if (is_ != state::waiting) return {};
    if (leaving_) return finish(*leaving_, true);
    if (valid_until != time_point::max()) lease_ = valid_until - now;
    is_ = paused_ ? state::ready : state::running;
    return {.start = is_ == state::running};
}

auto supervision::refused(int code) -> orders {
    if (is_ != state::waiting) return {};
    return finish(leaving_.value_or(code), false);
}

auto supervision::signalled(int signal) -> orders {
    if (is_ == state::running) return {.send = {signal}};
    const bool ends_a_wait = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    if (!ends_a_wait || is_ == state::finished) return {};
    if (is_ == state::ready) return finish(ended_by(signal), true);
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
    if (is_ != state::ready) return {};
    is_ = state::running;
    return {.start = true};
}

auto supervision::wrapper_gone() -> orders {
    const int code = ended_by(SIGKILL);  // nobody is left to read it
    if (is_ == state::ready) return finish(code, true);
    if (is_ == state::waiting && !leaving_) {
        leaving_ = code;
        return {.withdraw = true};
    }
    if (is_ != state::running || killed_) return {};
    killed_ = true;
    return {.send = {SIGKILL}};
}

auto supervision::not_started(int code) -> orders {
    return is_ == state::running ? finish(code, true) : orders{};
}

auto supervision::ended(int code) -> orders {
    if (is_ == state::running && !code_) code_ = code;
    return {};
}

auto supervision::group_empty() -> orders {
    if (is_ != state::running || !code_) return {};
    return finish(trouble_ == trouble::none ? *code_ : static_cast<int>(exit_code::lost), true);
}

// A stopped group would not hear TERM, so it is continued too.
auto supervision::stop(trouble why, time_point kill_at) -> orders {
    trouble_ = why;
    kill_at_ = kill_at;
    return {.send = {SIGTERM, SIGCONT}, .tell = why};
}

auto supervision::lost(time_point now) -> orders {
    if (is_ == state::ready) {
        orders done = finish(static_cast<int>(exit_code::lost), true);
        done.tell = trouble::lost;
        return done;
    }
    if (is_ != state::running || trouble_ != trouble::none) return {};
    return stop(trouble::lost, now + std::min<duration>(grace(lease_), 1s));
}

auto supervision::tick(time_point now, time_point valid_until) -> orders {
    if (is_ == state::ready && valid_until <= now) return lost(now);
    if (is_ != state::running || killed_) return {};
    if (trouble_ == trouble::none && valid_until != time_point::max()) {
        if (valid_until <= now) return lost(now);
        if (valid_until - grace(lease_) <= now) return stop(trouble::lease_ends, valid_until - margin(lease_));
    }
    if (kill_at_ > now) return {};
    killed_ = true;
    return {.send = {SIGKILL}};
}

auto supervision::next_look(time_point valid_until) const -> time_point {
    if (is_ == state::ready) return valid_until;
    if (is_ != state::running || killed_) return time_point::max();
    if (trouble_ != trouble::none) return kill_at_;
    if (valid_until == time_point::max() || valid_until == time_point::min()) return valid_until;
    return valid_until - grace(lease_);
}

}  // namespace command
