// Signals as something to be read, like everything else the loops wait for.
#pragma once

#include "descriptor.hpp"

#include <functional>
#include <initializer_list>
#include <optional>

#include <signal.h>

namespace command {

// Those by which a process is told to end.
constexpr bool is_to_end(int signal) noexcept {
    return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT || signal == SIGHUP;
}

// Blocks those of the signals that were not ignored when the program began (nohup and shells ignore some on purpose) and
// reads them one by one. To be made before any thread, so that all of them have it blocked.
class signal_source {
public:
    explicit signal_source(std::initializer_list<int> wanted);

    int get() const noexcept { return from_.get(); }
    std::optional<int> read() const noexcept;

    // As it was before: what the command inherits.
    const sigset_t& mask_before() const noexcept { return before_; }

    // Stops this process, or the whole job as the terminal would, by this signal, and returns when that is over: at once, if
    // `unless` says so or nobody could continue it. What makes `unless` true must send CONT after it: then nothing is slept
    // through.
    enum class stops { process, job };
    static void stop(int signal, stops what, const std::function<bool()>& unless);

    // Whether one of those has come and was not read.
    static bool pending(std::initializer_list<int> some) noexcept;

private:
    sigset_t before_{};
    descriptor from_;
};

}  // namespace command
