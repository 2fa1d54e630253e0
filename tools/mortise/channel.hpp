// What wrapper and guardian tell each other. Its end tells the guardian that the wrapper is dead. (The keeper holds the guardian's
// end open; the wrapper learns of the death of its child as all parents do.)
#pragma once

#include "descriptor.hpp"

#include <optional>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

namespace command {

struct message {
    enum class kind : int {
        // from the wrapper
        signal,   // to be passed on to the command
        paused,   // the job is stopped
        resumed,  // and goes on
        // from the guardian
        keeper,    // its process
        started,   // the command's process group
        stopped,   // the command, by this signal
        ended,     // the command; something that it started still lives
        lost,      // the lock, before the command had ended
        finished,  // exit with this code
    };
    kind is{};
    int value = 0;
};

class channel {
public:
    channel() = default;
    explicit channel(descriptor end) : end_(std::move(end)) {}

    int get() const noexcept { return end_.get(); }

    void tell(message::kind is, int value = 0) const noexcept {
        const message one{is, value};
        static_cast<void>(::send(end_.get(), &one, sizeof one, MSG_NOSIGNAL));
    }

    // Whether hear() has an answer at once.
    bool has_news() const noexcept {
        pollfd readable{end_.get(), POLLIN, 0};
        return ::poll(&readable, 1, 0) == 1;
    }

    // Nothing: the other side is gone. Blocks unless poll said that there is something.
    std::optional<message> hear() const noexcept {
        message one;
        ssize_t size = 0;
        do size = ::recv(end_.get(), &one, sizeof one, 0);
        while (size < 0 &&
               (errno == EINTR || errno == ECONNRESET));  // it left without hearing us out: read what it said
        if (size != sizeof one) return std::nullopt;
        return one;
    }

    static std::pair<channel, channel> make() {
        int ends[2]{-1, -1};
        static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        return {channel{descriptor{ends[0]}}, channel{descriptor{ends[1]}}};
    }

private:
    descriptor end_;
};

}  // namespace command
