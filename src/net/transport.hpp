// Bytes to and from one server: a socket, or TLS over one. Never blocks.
#pragma once

#include <mortise/config.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace mortise::inline v0::net {

// read() and write() may be called by two threads at once, one each.
class transport {
public:
    enum class outcome { done, wants_read, wants_write, closed, failed };
    struct result {
        outcome is = outcome::done;
        std::size_t bytes = 0;
        std::string why{};      // when failed
        bool hopeless = false;  // a repetition would fail likewise: a certificate, a name
        bool advises = false;   // `why` says what to look at
    };

    virtual ~transport();
    virtual int descriptor() const noexcept = 0;

    // To be repeated until it is done or failed.
    virtual result establish() = 0;
    virtual result read(std::span<char> into) = 0;
    virtual result write(std::string_view bytes) = 0;

    // More was received than read() has given out.
    virtual bool holds_more() const { return false; }

    // The other side sees the end, and so does a thread that waits for the descriptor.
    void shut_down() noexcept;
};

// A socket on its way to `where`; throws std::system_error if there is none to be had.
std::unique_ptr<transport> connect_to(const sockaddr_storage& where, socklen_t length);

}  // namespace mortise::inline v0::net
