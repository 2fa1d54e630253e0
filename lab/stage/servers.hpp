// The servers of the stage.
#pragma once

#include "lab/stage/scene.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace lab {

class borrowed_redis;
struct story;

// This story cannot be played on the server that was lent.
struct needs_own_server : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A program that a story needs is not on this machine.
struct not_installed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Starts the servers that a story needs when it needs them, on ports of their own, and ends them with itself. Their clock is the
// stage's.
class servers {
public:
    servers();
    explicit servers(std::unique_ptr<borrowed_redis> lent);  // for stories that it can play; its time is its own
    ~servers();
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    scene set(const story& next);  // empty servers, and what actors must know of them
    void set_time(std::chrono::nanoseconds since_1970);
    void set_ahead(std::size_t server, std::chrono::nanoseconds by);  // the clock of one is wrong from now on
    std::int64_t stock_left(const story& now);

    // For time that is not the stage's: until so much has passed.
    void wait(std::chrono::nanoseconds by, const std::function<void(std::chrono::nanoseconds)>& meanwhile);

    // Of a database, which knows its clients.
    void admit(const std::string& actor, const scene& where);
    void forget(const std::string& actor);  // it was killed: returns when the servers have noticed
    int lock_waits();                       // how many statements wait for others

    bool lets_wait();  // Redis has a client that waits in it: for replicas, say
    void kill(std::size_t server);
    void hold_writes();      // the first one does not answer them
    void answer_writes();    // and those of clients that are still there
    void replicate();        // the second becomes a replica of the first, and has all that it has
    void cut_replica();      // and hears nothing more of it
    void promote_replica();  // and becomes a master itself
    void replace_leader();   // of etcd: it is killed, and another is elected

private:
    struct inside;
    std::unique_ptr<inside> in_;
};

}  // namespace lab
