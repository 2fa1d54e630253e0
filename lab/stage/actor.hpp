// One who wants the lock: a process on the stage.
#pragma once

#include "lab/stage/raw_redis.hpp"
#include "lab/stage/scene.hpp"
#include "lab/stage/trace.hpp"

#include <mortise/client.hpp>
#include <mortise/hold.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// What the code of a story sees. It runs in a process of its own, which the director lets go on from point to point, kills or stops;
// so a crash is a crash. It says what it believes (holds, lets_go, refused), and the judge compares that with the others' beliefs.
class actor {
public:
    // Descriptors: the director's words come from the first; ticks of the clock from the second.
    actor(std::string name, const scene& where, std::chrono::nanoseconds clock_ahead, int control, int ticks);
    ~actor();
    actor(const actor&) = delete;
    actor& operator=(const actor&) = delete;

    const std::string& name() const { return name_; }
    const scene& where() const { return scene_; }

    // Stands here until the director lets it go on.
    void at(std::string_view point);

    void holds();                           // the lock, as far as it knows
    void holds(const mortise::hold& held);  // one of ours, which knows until when
    void lets_go();                         // before it frees it: from here on it does not rely on it
    void refused(text why = {});
    void note(text what);
    void failed(text why);                                   // with an error that it did not expect
    void worked(text what);                                  // what only one should do
    void sold();                                             // an item, in a way of its own
    void asked(text command_and_answer, std::string state);  // of a server, in a way of its own

    // Does what may wait in the database; the director sees whether it does, and goes on.
    void may_wait(const std::function<void()>& what);

    // One item out of the stock in the key "ticket": reads it, stands at "stock read", and writes what is left.
    void sell();

    // The same as its holder with this token, in three steps that the resource checks (mortise/fenced.hpp): seal, read, write.
    // False: it was rejected.
    bool sell(mortise::token mine);

    // A plain connection, to the first server or to another.
    raw_redis& redis(std::size_t server = 0);

    void ask_in_vain(
        const std::vector<std::string>& command);  // the server does not answer, and it gives the connection up

    // On a connection of their own.
    void subscribe(const std::string& channel);
    void await_message();

    // Locks of ours, on the stage's time. On one server of several, if it says which.
    mortise::client& locks(mortise::client_options options = {}, std::optional<std::size_t> server = {});

    // The wall clock of its machine, which may be wrong.
    std::chrono::milliseconds wall_clock() const;

private:
    struct part;
    void say(const event& what) const;
    void stand() const;
    std::string store_url() const;
    std::string state(std::size_t server);

    const std::string name_;
    const scene& scene_;
    const std::chrono::nanoseconds clock_ahead_;
    const int control_;
    const std::unique_ptr<part> part_;
};

}  // namespace lab
