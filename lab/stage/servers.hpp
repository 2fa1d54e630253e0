// The servers of the stage.
#pragma once

#include "lab/stage/scene.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace lab {

struct story;

// A program that a story needs is not on this machine.
struct not_installed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Starts the servers that a story needs when it needs them, on ports of their own, and ends them with itself. Their clock is the
// stage's.
class servers {
public:
    servers();
    ~servers();
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    scene set(const story& next);  // empty servers, and what actors must know of them
    void set_time(std::chrono::nanoseconds since_1970);
    void set_ahead(std::size_t server, std::chrono::nanoseconds by);  // the clock of one is wrong from now on

    void kill(std::size_t server);
    void replicate();        // the second becomes a replica of the first, and has all that it has
    void cut_replica();      // and hears nothing more of it
    void promote_replica();  // and becomes a master itself

private:
    struct inside;
    std::unique_ptr<inside> in_;
};

}  // namespace lab
