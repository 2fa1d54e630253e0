// How the command ends: every code it uses, in one place. `mortise --help` and the manual show the same.
#pragma once

#include <mortise/error.hpp>

#include <system_error>

namespace command {

enum class exit_code : int {
    done = 0,
    busy = 1,            // somebody else holds it, and we were not to wait (any longer); `run -E` chooses another
    usage = 64,          // the command line, or a demand that the name or the store does not fit
    unavailable = 69,    // the store cannot be reached or does not let us in, or the machine is at a limit
    output = 74,         // what was asked for could not be written
    lost = 75,           // the lock ended below the command
    configuration = 78,  // the store's address or a configuration file
    cannot_execute = 126,
    not_found = 127,
};

// A command that a signal ended, or a wait that one interrupted.
constexpr int ended_by(int signal) noexcept {
    return 128 + signal;
}

inline exit_code code_of(std::error_code reason) noexcept {
    if (reason.category() != mortise::error_category()) return exit_code::unavailable;
    switch (static_cast<mortise::errc>(reason.value())) {
        case mortise::errc::busy:
        case mortise::errc::timed_out:
            return exit_code::busy;
        case mortise::errc::lost:
        case mortise::errc::not_owner:
            return exit_code::lost;
        case mortise::errc::bad_url:
        case mortise::errc::unknown_store:
            return exit_code::configuration;
        case mortise::errc::kind_mismatch:
        case mortise::errc::unsupported:
        case mortise::errc::no_token:
        case mortise::errc::would_deadlock:
        case mortise::errc::invalid_name:
        case mortise::errc::invalid_option:
            return exit_code::usage;
        default:
            return exit_code::unavailable;
    }
}

}  // namespace command
