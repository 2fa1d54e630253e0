#include "lab/stage/director.hpp"

#include "lab/stage/actor.hpp"
#include "lab/stage/message.hpp"
#include "lab/stage/servers.hpp"
#include "lab/story.hpp"

#include <mortise/boot_clock.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lab {
namespace {

std::string seconds(std::chrono::nanoseconds time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    if (whole % 3600 == 0) return std::to_string(whole / 3600) + " h";
    return std::to_string(whole) + " s";
}

// What expires after ten seconds has expired when ten seconds have passed.
constexpr std::chrono::milliseconds a_moment{1};

// The process of an actor; it never returns.
[[noreturn]] void act(void (*part)(actor&), const std::string& name, const scene& where, std::chrono::nanoseconds ahead,
                      int control, int ticks) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    {
        actor me{name, where, ahead, control, ticks};
        try {
            me.at("begins");
            part(me);
        } catch (const std::exception& thrown) {
            me.failed({std::string("throws: ") + thrown.what(), std::string("抛出异常：") + thrown.what()});
        }
    }
    ::_exit(0);
}

}  // namespace

director::director(const story& told, form which, lab::servers& house, progress waiting)
    : story_(told), form_(which), servers_(house), waiting_(std::move(waiting)) {
    scene_ = servers_.set(story_);
    began_ = now();
}

director::~director() = default;

std::chrono::nanoseconds director::now() const {
    return scene_.time ? scene_.time->now() : mortise::boot_clock::now().time_since_epoch();
}

void director::note(event what) {
    what.time = scene_.time ? now() - began_ : passed_;
    trace_.push_back(std::move(what));
}

void director::tell(text what) {
    note({.kind = kind::tell, .what = std::move(what)});
}

void director::sees(mishap what) {
    seen_.insert(what);
}

player& director::enter(std::string name, std::chrono::nanoseconds clock_ahead) {
    int control[2];
    int ticks[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0 ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ticks) != 0)
        throw void_play("no sockets for " + name);
    servers_.admit(name, scene_);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::close(control[0]);
        ::close(ticks[0]);
        act(form_ == form::naive ? story_.naive : story_.mended, name, scene_, clock_ahead, control[1], ticks[1]);
    }
    ::close(control[1]);
    ::close(ticks[1]);
    if (pid < 0) throw void_play("no process for " + name);
    players_.emplace_back(new player(*this, std::move(name), pid, control[0], ticks[0]));
    player& entered = *players_.back();
    note({.kind = kind::enters, .actor = entered.name()});
    entered.next();  // it stands at its beginning
    return entered;
}

// A hold of ours knows when it ends, even if its owner stands still and cannot look.
void director::end_what_is_over() {
    for (const auto& each : players_)
        if (each->holds_ && each->has_clock_ && each->valid_until_ <= now()) {
            each->holds_ = false;
            note({.kind = kind::lost, .actor = each->name()});
        }
}

void director::pass(std::chrono::nanoseconds by) {
    const std::chrono::nanoseconds longest =
        std::chrono::seconds{35};  // of real time: longer than any lease of a story
    if (!scene_.time) by = std::min(by, longest);
    tell_time(by);
    if (scene_.time) return move_time(by, settled_tick);
    let_real_time_pass(by);
}

void director::pass_unanswered(std::chrono::nanoseconds by) {
    tell_time(by);
    move_time(by, plain_tick);
}

void director::tell_time(std::chrono::nanoseconds by) {
    note({.kind = kind::pass, .what = {seconds(by) + " pass", seconds(by) + " 过去了"}});
}

void director::let_real_time_pass(std::chrono::nanoseconds by) {
    servers_.wait(by, [&](std::chrono::nanoseconds passed) {
        for (const auto& each : players_) each->tick(settled_tick);
        end_what_is_over();
        if (waiting_) waiting_(passed, by);
    });
    passed_ += by;
}

// Who waits for a server waits for that, not for its own patience to end; but a store may pause between two requests of one claim.
void director::let_moment_pass(std::chrono::nanoseconds until, bool unanswered) {
    if (!scene_.time) return;  // it passes by itself
    const auto most = unanswered ? std::chrono::milliseconds{50} : std::chrono::seconds{1};
    if (until > scene_.time->now() + most) return;
    servers_.set_time(std::max(until, scene_.time->now()));
    end_what_is_over();
    for (const auto& each : players_) each->asks_clock(plain_tick);
}

void director::move_time(std::chrono::nanoseconds by, char tick) {
    const auto until = scene_.time->now() + by + a_moment;
    for (const auto& each : players_) each->tick(tick);  // to learn of their timers
    while (scene_.time->now() < until) {
        auto next = until;
        for (const auto& each : players_) next = std::min(next, each->next_moment());
        servers_.set_time(std::max(next, scene_.time->now()));
        end_what_is_over();
        for (const auto& each : players_) each->tick(tick);
    }
}

performance director::perform() {
    if (story_.stock > 0) note({.kind = kind::stock, .number = story_.stock});
    story_.play(*this);
    if (story_.stock > 0) note({.kind = kind::stock, .number = servers_.stock_left(story_)});
    std::set<mishap> seen = judged(story_, form_, trace_);
    seen.merge(seen_);
    return {form_, std::move(trace_), std::move(seen)};
}

}  // namespace lab
