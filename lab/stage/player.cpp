#include "lab/stage/player.hpp"

#include "lab/stage/director.hpp"
#include "lab/stage/interruption.hpp"
#include "lab/stage/message.hpp"
#include "lab/stage/servers.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
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

// No thread of it runs, or would if it had a processor.
bool idle(pid_t pid) {
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
        std::ifstream file{thread.path() / "stat"};
        std::string line;
        std::getline(file, line);  // "1234 (mortise-lab) S ..."
        if (const std::size_t name_ends = line.rfind(')'); name_ends == line.npos || line.substr(name_ends, 3) != ") S")
            return false;
    }
    return !gone;
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

// One that is silent may be waiting for a moment to pass: a client of ours that pauses before it asks a server again, say. One
// that is only slow does not sleep, or waits for a server.
event player::next() {
    constexpr int a_while = 25;
    for (int silent = 0; !readable(control_, a_while); silent += a_while) {
        if (interrupted()) throw void_play("interrupted");
        if (silent >= a_minute) throw void_play(name_ + " does not go on");
        if (idle(pid_) && asks_clock(plain_tick)) stage_.let_moment_pass(next_timer_, unanswered_);
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
        case kind::asks:
            return let_ask();
        case kind::waits:
            if (state_ == state::waiting) return;
            state_ = state::waiting;
            break;
        case kind::answered:
        case kind::granted:
            if (state_ == state::waiting || state_ == state::asking) state_ = state::running;  // it may be told twice
            if (what.kind == kind::answered) return;
            break;
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

// The server is asked how many wait, before and after: nobody else moves meanwhile.
void player::let_ask() {
    waits_before_ = stage_.servers().lock_waits();
    let_go();
    state_ = state::asking;
}

bool player::waits_in_server() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds{a_minute};
    while (!readable(control_, 0)) {
        if (stage_.servers().lock_waits() > waits_before_) return true;
        if (std::chrono::steady_clock::now() > give_up) throw void_play(name_ + " has no answer, and does not wait");
    }
    return false;
}

bool player::go_on(std::initializer_list<std::string_view> points, bool returns_when_waiting) {
    if (stopped_) throw void_play(name_ + " stands still and cannot go on");
    if (state_ == state::standing) let_go();
    while (state_ != state::ended) {
        if (state_ == state::waiting && returns_when_waiting && !readable(control_, 0)) return false;
        const bool waits = state_ == state::asking && returns_when_waiting && waits_in_server();
        note(waits ? event{.kind = kind::waits} : next());
        if (state_ != state::standing) continue;
        tick(settled_tick);
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
    let_go();
    while (state_ != state::ended && (state_ != state::standing || stands_at_ != point)) {
        if (state_ == state::standing) let_go();
        if (readable(control_, 1))
            note(next());
        else if (stage_.servers().lets_wait() || (has_clock_ && idle(pid_)))
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
    stage_.servers().forget(name_);
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
    std::int64_t answer[3] = {};
    if (::send(ticks_, &how, 1, MSG_NOSIGNAL) != 1) return false;
    if (!readable(ticks_, a_minute)) throw void_play(name_ + " does not see time pass");
    if (::recv(ticks_, answer, sizeof answer, 0) != sizeof answer) return false;
    next_timer_ = std::chrono::nanoseconds{answer[0]};
    valid_until_ = std::chrono::nanoseconds{answer[1]};
    unanswered_ = answer[2] > 0;
    return true;
}

void player::tick(char how) {
    if (!has_clock_ || stopped_ || state_ == state::ended) return;
    if (asks_clock(how)) {
        hear(true);
        while (how == settled_tick && state_ == state::running) note(next());  // granted by now: it goes on at once
        return;
    }
    while (state_ != state::ended) note(next());  // it has come to its end just now
}

}  // namespace lab
