// What the processes of a storm share besides the lock under test: a page that shows who is inside.
//
// Without leases, every worker writes itself into `inside` when it was granted the lock and wipes itself out before it gives
// it back. Whoever finds somebody else there has met an overlap, unless that one was killed while inside: the storm marks its
// victims as doomed before it kills them, so a dead one is never mistaken for a living one, nor the other way round.
//
// With leases, a worker that was stopped for too long meets others by right, but its hold must not be valid any more. So
// each worker raises `newest_valid` to its token after it found its hold valid. Whoever reads a higher token there and then
// finds its own hold valid has met an overlap: when the other one looked, both were.
#pragma once

#include "support/census.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mortise::testing {

struct arena {
    static constexpr int most_lanes = 64;
    static constexpr std::uint64_t turn_mask = 1023;  // of a token: its turn on one grant

    // Set by the storm before it hires.
    std::atomic<std::int64_t> linger;     // how long to stay inside, in nanoseconds
    std::atomic<std::int64_t> lease;      // of the claims, in nanoseconds; 0: none
    std::atomic<std::uint32_t> served;    // the store is a server, which may be kept from answering
    std::atomic<std::uint32_t> fifo;      // order::fifo, not the defaults
    std::atomic<std::uint32_t> notes;     // workers write down their claims, next to this file
    std::atomic<std::uint32_t> specimen;  // of a store that says "in line" too early

    census_number census;                    // workers say which claims they admit to
    std::atomic<std::uint32_t> over;         // workers leave when it is set
    std::atomic<std::uint64_t> inside;       // lane + 1 and pid of who holds the lock
    std::atomic<std::uint64_t> last_token;   // of who was inside last
    std::atomic<std::uint64_t> most_turns;   // on one grant
    std::atomic<std::uint64_t> entries;      // of all lanes
    std::atomic<std::uint64_t> overlaps;     // two inside at once; with leases, two valid at once
    std::atomic<std::uint64_t> disorders;    // a token that did not rise
    std::atomic<std::uint64_t> taken_from;   // the dead one that somebody followed last
    std::atomic<std::int64_t> taken_at;      // and when, in nanoseconds of CLOCK_MONOTONIC
    std::atomic<std::int32_t> last_stopped;  // pid
    std::atomic<std::uint64_t> named;        // errors that name the stopped process
    std::atomic<std::uint64_t> unnamed;      // errors that do not
    std::atomic<std::uint64_t> timeouts;     // waits that ended without a grant
    std::atomic<std::uint64_t> unanswered;   // waits that ended before a server had answered at all
    std::atomic<std::uint64_t> newest_valid;
    std::atomic<std::uint64_t> superseded;  // holds that were not valid any more when somebody had followed
    char last_error[512];
    struct notes_of_lane {
        alignas(64) std::atomic<std::int32_t> doomed;  // pid that is about to be killed
        std::atomic<std::uint64_t> entries;
        std::atomic<std::uint64_t> attempts;
        std::atomic<std::uint64_t> named;  // answers other than a grant that name the stopped process
    } lanes[most_lanes];

    static std::uint64_t code(int lane, pid_t pid) {
        return std::uint64_t(lane + 1) << 32 | static_cast<std::uint32_t>(pid);
    }

    // A fresh file is all zeros, which is where everything starts. Mapped until the process ends.
    static arena& at(const std::string& file) {
        const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(arena)) != 0) throw std::runtime_error("cannot open " + file);
        void* page = ::mmap(nullptr, sizeof(arena), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (page == MAP_FAILED) throw std::runtime_error("cannot map " + file);
        return *static_cast<arena*>(page);
    }
    static std::string notes_file(const std::string& file, int lane) { return file + ".notes." + std::to_string(lane); }

    static void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) {
        std::uint64_t seen = highest;
        while (seen < value && !highest.compare_exchange_weak(seen, value)) {
        }
    }

    void enter(int lane, std::uint64_t token, std::int64_t now) {
        const std::uint64_t before = inside.exchange(code(lane, ::getpid()));
        if (before != 0 && !follow_the_dead(before, now)) ++overlaps;
        if (last_token.exchange(token) >= token) ++disorders;
        count(lane, token);
    }
    void leave(int lane) {
        std::uint64_t mine = code(lane, ::getpid());
        if (!inside.compare_exchange_strong(mine, 0)) ++overlaps;
    }

    // `newest`: newest_valid, from before this hold was asked for.
    void enter_on_lease(int lane, std::uint64_t token, std::uint64_t newest, std::int64_t now) {
        follow_the_dead(inside.exchange(code(lane, ::getpid())), now);
        last_token = token;
        if (token <= newest) ++disorders;
        count(lane, token);
    }
    // Whether nobody has followed yet.
    template <class Hold>
    bool stays_on_lease(const Hold& mine) {
        const std::uint64_t token = mine.token().value();
        const std::uint64_t newest = newest_valid;
        const bool still = mine.valid();  // after that look
        if (newest > token) {
            ++(still ? overlaps : superseded);
            return false;
        }
        if (still) raise(newest_valid, token);
        return true;
    }
    void leave_on_lease(int lane) {
        std::uint64_t mine = code(lane, ::getpid());
        inside.compare_exchange_strong(mine, 0);
    }

    bool follow_the_dead(std::uint64_t before, std::int64_t now) {
        const auto whose = static_cast<int>(before >> 32) - 1;
        if (whose < 0 || whose >= most_lanes || lanes[whose].doomed != static_cast<std::int32_t>(before)) return false;
        taken_at = now;
        taken_from = before;
        return true;
    }
    void count(int lane, std::uint64_t token) {
        raise(most_turns, (token & turn_mask) + 1);
        ++entries;
        ++lanes[lane].entries;
    }

    // An error, which must name the process that is stopped: nothing else is wrong here.
    void complain(int lane, const std::string& what) {
        const bool right = what.find("pid " + std::to_string(last_stopped.load())) != what.npos;
        ++(right ? named : unnamed);
        if (right) ++lanes[lane].named;
        if (!right) std::strncpy(last_error, what.c_str(), sizeof last_error - 1);
    }
};

}  // namespace mortise::testing
