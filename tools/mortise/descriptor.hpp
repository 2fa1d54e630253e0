// A file descriptor that closes itself. All of ours are close-on-exec: the command inherits what we inherited, no more.
#pragma once

#include <utility>

#include <unistd.h>

namespace command {

class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int opened) noexcept : fd_(opened) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() { close(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void close() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

}  // namespace command
