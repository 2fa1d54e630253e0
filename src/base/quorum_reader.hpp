// Callers that wait for several stores read for these themselves: one at a time, for all. So the answer to a single caller needs
// no other thread, however many nodes it asked.
#pragma once

#include "base/reader_turn.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <functional>
#include <mutex>
#include <vector>

#include <poll.h>

namespace mortise::inline v0::base {

// The three functions of a store of stores. The nodes outlive it.
class quorum_reader {
public:
    // `calm`: no answer is urgent any more once the caller has its own. Throws errc::exhausted.
    quorum_reader(std::vector<spi::store*> nodes, std::function<bool()> calm);

    void will_sleep(bool whether) noexcept;
    void sleep(spi::sleeper& who);
    void wake(spi::sleeper& who) noexcept;

private:
    void read_for(spi::sleeper& who);

    const std::vector<spi::store*> nodes_;
    const std::function<bool()> calm_;
    std::mutex mutex_;
    reader_turn turn_;
    std::vector<pollfd> sources_;  // of the nodes, in their order; used by whoever has the turn
};

}  // namespace mortise::inline v0::base
