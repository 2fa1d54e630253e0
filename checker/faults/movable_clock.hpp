// The wall clock of a server, for a test that sets it.
#pragma once

#include "support/children.hpp"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace mortise::testing {

// Right until set() is called. Given the shim of wall_clock.cmake; made before the server, and outlives it.
class movable_clock {
public:
    explicit movable_clock(std::string shim) : shim_(std::move(shim)) { set(std::chrono::seconds{0}); }

    void set(std::chrono::seconds ahead) {
        const std::int64_t seconds = ahead.count();
        std::fstream out{file_, std::ios::binary | std::ios::in | std::ios::out};  // in place: the server has it mapped
        if (!out) out.open(file_, std::ios::binary | std::ios::out);
        out.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
        out.flush();
        if (!out) throw std::runtime_error("cannot set the clock in " + file_);
    }

    // What stands before the server's command.
    std::vector<std::string> command() const {
        return {"env", "LD_PRELOAD=" + shim_, "MORTISE_TEST_WALL=file=" + file_};
    }

private:
    const std::string shim_;
    const scratch_directory home_;
    const std::string file_ = home_ / "seconds";
};

}  // namespace mortise::testing
