#include "lab/stage/player.hpp"

#include "lab/stage/director.hpp"
#include "lab/stage/message.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {
namespace {

constexpr int a_minute = 60'000;

bool readable(int fd, int patience) {
    pollfd input{fd, POLLIN, 0};
    return ::poll(&input, 1, patience) == 1;
}

}  // namespace

player::player(director& stage, std::string name, pid_t pid, int control, int ticks)
    : stage_(stage), name_(std::move(name)), pid_(pid), control_(control), ticks_(ticks) {}

player::~player() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(control_);
    ::close(ticks_);
}

// One that is silent may be waiting for a moment to pass: a client of ours that pauses before it asks a server again, say.
event player::next() {
    constexpr int a_while = 250;
    for (int silent = 0; !readable(control_, a_while); silent += a_while) {
        if (silent >= a_minute) throw void_play(name_ + " does not go on");
        if (asks_clock(plain_tick)) stage_.let_moment_pass(next_timer_);
    }
    char room[8192];
    const ssize_t got = ::recv(control_, room, sizeof room, 0);
    if (got <= 0) return {.kind = kind::ends};
    return unpacked(std::string(room, static_cast<std::size_t>(got)));
}

void player::note(event what) {
    switch (what.kind) {
        case kind::clocked:
            has_clock_ = true;
            return;
        case kind::holds:
            holds_ = true;
            break;
        case kind::lets_go:
            holds_ = false;
            break;
        case kind::ends:
            if (state_ == state::ended) return;
            state_ = state::ended;
            holds_ = false;
            break;
        case kind::waits:
            if (state_ == state::waiting) return;
            state_ = state::waiting;
            break;
        case kind::granted:
            if (state_ == state::waiting) state_ = state::running;  // it may be told twice
            return;
        case kind::point:
            state_ = state::standing;
            stands_at_ = what.what.en;
            break;
        default:
            break;
    }
    what.actor = name_;
    stage_.note(std::move(what));
}

void player::let_go() {
    static_cast<void>(!::send(control_, "g", 1, MSG_NOSIGNAL));
    state_ = state::running;
}

bool player::go_on(std::initializer_list<std::string_view> points, bool returns_when_waiting) {
    if (stopped_) throw void_play(name_ + " stands still and cannot go on");
    if (state_ == state::standing) let_go();
    while (state_ != state::ended) {
        if (state_ == state::waiting && returns_when_waiting && !readable(control_, 0)) return false;
        note(next());
        if (state_ != state::standing) continue;
        if (std::ranges::find(points, stands_at_) != points.end()) return true;
        let_go();
    }
    return false;
}

bool player::run_to(std::initializer_list<std::string_view> points) {
    return go_on(points, true);
}

bool player::await(std::initializer_list<std::string_view> points) {
    if (state_ == state::standing && std::ranges::find(points, stands_at_) != points.end()) return true;
    return go_on(points, false);
}

void player::begin(std::string_view point) {
    constexpr int a_moment = 5;  // in which it would have said more, if it could
    let_go();
    while (state_ != state::ended && (state_ != state::standing || stands_at_ != point)) {
        if (state_ == state::standing) let_go();
        if (readable(control_, a_moment))
            note(next());
        else
            stage_.move_time(std::chrono::milliseconds{100}, plain_tick);
    }
}

// Without waiting for more.
void player::hear(bool all) {
    while (state_ != state::ended && readable(control_, 0)) {
        note(next());
        if (!all) return;
    }
}

void player::crash() {
    if (state_ == state::ended) return;
    ::kill(pid_, SIGKILL);
    state_ = state::ended;
    holds_ = false;
    stage_.note({.kind = kind::crash, .actor = name_});
}

void player::stop() {
    if (state_ == state::ended) return;
    tick(settled_tick);  // the director remembers until when it may believe that it holds the lock
    int status = 0;
    ::kill(pid_, SIGSTOP);
    while (::waitpid(pid_, &status, WUNTRACED) == pid_ && !WIFSTOPPED(status) && !WIFEXITED(status) &&
           !WIFSIGNALED(status)) {
    }
    stopped_ = true;
    stage_.note({.kind = kind::stop, .actor = name_});
}

void player::resume() {
    if (!stopped_) return;
    stopped_ = false;
    ::kill(pid_, SIGCONT);
    stage_.note({.kind = kind::resume, .actor = name_});
    tick(settled_tick);
}

std::chrono::nanoseconds player::next_moment() const {
    if (!has_clock_ || state_ == state::ended) return std::chrono::nanoseconds::max();
    const auto timer = stopped_ ? std::chrono::nanoseconds::max() : next_timer_;
    return holds_ ? std::min(timer, valid_until_) : timer;
}

// False: it has none, stands still or has ended.
bool player::asks_clock(char how) {
    if (!has_clock_ || stopped_ || state_ == state::ended) return false;
    std::int64_t answer[2] = {};
    if (::send(ticks_, &how, 1, MSG_NOSIGNAL) != 1) return false;
    if (!readable(ticks_, a_minute)) throw void_play(name_ + " does not see time pass");
    if (::recv(ticks_, answer, sizeof answer, 0) != sizeof answer) return false;
    next_timer_ = std::chrono::nanoseconds{answer[0]};
    valid_until_ = std::chrono::nanoseconds{answer[1]};
    return true;
}

void player::tick(char how) {
    if (!has_clock_ || stopped_ || state_ == state::ended) return;
    if (asks_clock(how)) return hear(true);
    while (state_ != state::ended) note(next());  // it has come to its end just now
}

}  // namespace lab
