// Who may move, and when.
#pragma once

#include "lab/performance.hpp"
#include "lab/stage/judge.hpp"
#include "lab/stage/player.hpp"
#include "lab/stage/scene.hpp"
#include "lab/stage/trace.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lab {

class servers;
struct story;

// Plays a story: one actor moves at a time, as far as it is told to, and time passes only when it is told to. So the same
// happens in every run. Throws `void_play` if an actor does not come where it should within a minute.
class director {
public:
    // `waiting`: told how far time has passed, where it passes by itself.
    using progress = std::function<void(std::chrono::nanoseconds passed, std::chrono::nanoseconds of)>;
    director(const story& told, form which, servers& house, progress waiting = {});
    ~director();
    director(const director&) = delete;
    director& operator=(const director&) = delete;

    // A process that does what the form says, and stands at its beginning.
    player& enter(std::string name, std::chrono::nanoseconds clock_ahead = {});

    // Time passes, for servers and for everybody who does not stand still. Timers run when they are due.
    void pass(std::chrono::nanoseconds by);

    // The same while servers do not answer: clients lose patience.
    void pass_unanswered(std::chrono::nanoseconds by);

    void tell(text what);    // a sentence of the story
    void sees(mishap what);  // for what the judge cannot know

    form which() const { return form_; }
    lab::servers& servers() { return servers_; }
    const trace& so_far() const { return trace_; }

    performance perform();

private:
    friend class player;
    void note(event what);
    void tell_time(std::chrono::nanoseconds by);
    void end_what_is_over();
    std::chrono::nanoseconds now() const;
    void let_real_time_pass(std::chrono::nanoseconds by);
    void move_time(std::chrono::nanoseconds by, char tick);
    void let_moment_pass(std::chrono::nanoseconds until, bool unanswered);  // if it is a moment

    const story& story_;
    const form form_;
    lab::servers& servers_;
    const progress waiting_;
    scene scene_;
    std::chrono::nanoseconds began_{};
    std::chrono::nanoseconds passed_{};  // of real time, as far as the story has let it
    std::vector<std::unique_ptr<player>> players_;
    trace trace_;
    std::set<mishap> seen_;
};

}  // namespace lab
