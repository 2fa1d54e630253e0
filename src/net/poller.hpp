// Polls sockets on the client's io thread.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace mortise::inline v0::net {

// Each socket is armed for one event at a time and must be armed again after it. Arming costs a system call and an
// event wakes a thread, so callers that read their socket themselves leave it unarmed.
class poller {
public:
    explicit poller(spi::clock& clock) : clock_(clock) {}
    ~poller();

    // `ready` runs on the io thread. It may run once more after remove().
    std::uint64_t add(int descriptor, std::function<void()> ready);
    void arm(std::uint64_t id, bool to_read, bool to_write) noexcept;  // neither: disarm
    void remove(std::uint64_t id) noexcept;

    void stop() noexcept;

private:
    struct polled_socket {
        int descriptor;
        std::shared_ptr<std::function<void()>> ready;
    };
    void look();

    spi::clock& clock_;
    std::mutex mutex_;
    int epoll_ = -1;
    bool stopped_ = false;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, polled_socket> sockets_;
};

}  // namespace mortise::inline v0::net
