// Signals as something to be read, like everything else the loops wait for.
#pragma once

#include "descriptor.hpp"

#include <initializer_list>
#include <optional>

#include <signal.h>

namespace command {

// Blocks those of the signals that were not ignored when the program began (nohup and shells ignore some on purpose) and
// reads them one by one. To be made before any thread, so that all of them have it blocked.
class signal_source {
public:
    explicit signal_source(std::initializer_list<int> wanted);

    int get() const noexcept { return from_.get(); }
    std::optional<int> read() const noexcept;

    // As it was before: what the command inherits.
    const sigset_t& mask_before() const noexcept { return before_; }

    // Lets the signal do what it does by default, now. Returns when that did not end the process, or was a stop that
    // is over.
    static void undergo(int signal);

private:
    sigset_t before_{};
    descriptor from_;
};

}  // namespace command
