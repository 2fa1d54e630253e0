#include "net/transport.hpp"

#include "base/descriptors.hpp"

#include <cstring>
#include <system_error>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>
#include <unistd.h>

namespace mortise::inline v0::net {
namespace {

class plain final : public transport {
public:
    explicit plain(int descriptor) : descriptor_(descriptor) {}
    ~plain() override { ::close(descriptor_); }

    int descriptor() const noexcept override { return descriptor_; }

    result establish() override {
        int failed = 0;
        socklen_t size = sizeof failed;
        ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &failed, &size);
        if (failed != 0) return {.is = status::failed, .why = std::strerror(failed)};
        sockaddr_storage peer{};
        socklen_t length = sizeof peer;
        const bool there = ::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
        return {.is = there ? status::done : status::wants_write};
    }
    result read(std::span<char> into) override { return receive(into, MSG_DONTWAIT); }
    result await(std::span<char> into) override {
        if (!blocks_) block();
        return receive(into, 0);
    }
    result write(std::string_view bytes) override {
        ssize_t n = 0;
        do {
            n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        } while (n < 0 && errno == EINTR);
        if (n >= 0) return {.bytes = static_cast<std::size_t>(n)};
        return failure(status::wants_write);
    }

private:
    // All other calls say that they do not want to.
    void block() noexcept {
        const timeval limit{.tv_sec = 0, .tv_usec = 1000};  // rounded up to a tick of the kernel
        const int flags = ::fcntl(descriptor_, F_GETFL);
        if (flags < 0 || ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) return;
        blocks_ = ::fcntl(descriptor_, F_SETFL, flags & ~O_NONBLOCK) == 0;
    }
    result receive(std::span<char> into, int flags) {
        ssize_t n = 0;
        do {
            n = ::recv(descriptor_, into.data(), into.size(), flags);
        } while (n < 0 && errno == EINTR);
        if (n > 0) return {.bytes = static_cast<std::size_t>(n)};
        if (n == 0) return {.is = status::closed};
        return failure(status::wants_read);
    }
    static result failure(status if_early) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {.is = if_early};
        return {.is = status::failed, .why = std::strerror(errno)};
    }
    const int descriptor_;
    bool blocks_ = false;  // used by the reading thread
};

}  // namespace

transport::~transport() = default;

void transport::shut_down() noexcept {
    ::shutdown(descriptor(), SHUT_RDWR);
}

std::unique_ptr<transport> connect_to(const sockaddr_storage& where, socklen_t length) {
    const base::standard_descriptors_taken out_of_the_way;
    const int descriptor = ::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "no socket to be had");
    auto made = std::make_unique<plain>(descriptor);
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&where), length) != 0 && errno != EINPROGRESS)
        throw std::system_error(errno, std::generic_category(), "cannot connect");
    return made;
}

}  // namespace mortise::inline v0::net
