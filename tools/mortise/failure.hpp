// The exception of a verb: a message for people and an exit code for scripts.
#pragma once

#include "exit_codes.hpp"

#include <stdexcept>
#include <string>

namespace command {

class failure : public std::runtime_error {
public:
    failure(exit_code code, const std::string& what) : std::runtime_error(what), code_(code) {}
    exit_code code() const noexcept { return code_; }

private:
    exit_code code_;
};

[[noreturn]] inline void refuse(const std::string& what) {
    throw failure(exit_code::usage, what);
}

}  // namespace command
