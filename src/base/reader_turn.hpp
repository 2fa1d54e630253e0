// Whose turn it is to read a socket, or several, that many threads wait for: one leads and reads for all, the others follow and
// sleep.
//
//   nobody ---- a caller waits ----> that caller ---- it is answered ----> a follower, or nobody
//      \------- armed, readable ---> the io thread -- nothing is left ---> likewise
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <list>
#include <mutex>
#include <span>

#include <poll.h>

namespace mortise::inline v0::base {

// All members but poll() are called with the channel's mutex held.
class reader_turn {
public:
    reader_turn();  // throws errc::exhausted
    ~reader_turn();
    reader_turn(const reader_turn&) = delete;
    reader_turn& operator=(const reader_turn&) = delete;

    bool free() const noexcept { return reader_ == nullptr; }
    bool is_of(const void* reader) const noexcept { return reader_ == reader; }
    void take(const void* reader) noexcept { reader_ = reader; }
    void drop(const void* reader) noexcept {
        if (reader_ == reader) reader_ = nullptr;
    }

    // Sleeps until `who` is answered or gets the turn.
    void follow(std::unique_lock<std::mutex>& held, spi::sleeper& who);
    // Gives the turn to a follower that is not answered yet. False: there is none.
    bool pass_on();

    // Without the mutex: waits until the descriptor is readable or wake() is called. True: it is readable.
    bool poll(int descriptor) const noexcept;
    // The same of several; the last is left for the wake-up.
    void poll(std::span<pollfd> sources) const noexcept;
    void wake() const noexcept;

private:
    struct follower {
        spi::sleeper* who;  // asleep, or answered
        bool* passed;       // set when it gets the turn, and leaves the list
    };
    const void* reader_ = nullptr;  // a sleeper, or whatever else identifies who reads
    std::list<follower> followers_;
    int wake_event_ = -1;
};

}  // namespace mortise::inline v0::base
