// A byte stream to a server, non-blocking but for await(): a socket, or TLS over one.
#pragma once

#include <mortise/config.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace mortise::inline v0::net {

// One thread may read while another writes.
class transport {
public:
    enum class status { done, wants_read, wants_write, closed, failed };
    struct result {
        status is = status::done;
        std::size_t bytes = 0;
        std::string why{};      // when failed
        bool hopeless = false;  // retrying is useless: a certificate, a name
        bool advises = false;   // `why` contains a remedy
    };

    virtual ~transport();
    virtual int descriptor() const noexcept = 0;

    // Call again until it is done or failed.
    virtual result establish() = 0;
    virtual result read(std::span<char> into) = 0;
    // The same, but if nothing is there it may wait for some milliseconds first. It saves a caller the system call that waits.
    virtual result await(std::span<char> into) { return read(into); }
    virtual result write(std::string_view bytes) = 0;

    // More was received than read() has returned.
    virtual bool holds_more() const { return false; }

    // The server sees the end of the stream, and so does a thread that polls the descriptor.
    void shut_down() noexcept;
};

// Starts to connect a socket. Throws std::system_error if none can be created.
std::unique_ptr<transport> connect_to(const sockaddr_storage& where, socklen_t length);

}  // namespace mortise::inline v0::net
