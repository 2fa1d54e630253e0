#include "base/reader_turn.hpp"

#include "base/descriptors.hpp"

#include <mortise/error.hpp>

#include <cstdint>
#include <cstring>
#include <string>

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mortise::inline v0::base {

reader_turn::reader_turn() {
    const base::standard_descriptors_taken out_of_the_way;
    wake_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_event_ < 0)
        throw error(errc::exhausted, std::string("cannot create an eventfd: ") + std::strerror(errno) +
                                         "; raise the limit of open files (ulimit -n)");
}

reader_turn::~reader_turn() {
    ::close(wake_event_);
}

void reader_turn::follow(std::unique_lock<std::mutex>& held, spi::sleeper& who) {
    int was = spi::sleeper::awake;
    if (!who.is.compare_exchange_strong(was, spi::sleeper::asleep)) return;
    bool passed = false;  // the turn may have been taken from it again since
    const auto place = followers_.insert(followers_.end(), follower{&who, &passed});
    held.unlock();
    who.is.wait(spi::sleeper::asleep);
    held.lock();
    if (!passed) followers_.erase(place);  // else pass_on() did
}

bool reader_turn::pass_on() {
    for (auto it = followers_.begin(); it != followers_.end(); ++it) {
        spi::sleeper* const next = it->who;
        int was = spi::sleeper::asleep;
        if (!next->is.compare_exchange_strong(was, spi::sleeper::awake)) continue;  // answered, and about to return
        *it->passed = true;
        followers_.erase(it);
        reader_ = next;
        next->is.notify_one();
        return true;
    }
    return false;
}

bool reader_turn::poll(int descriptor) const noexcept {
    pollfd sources[] = {{descriptor, POLLIN, 0}, {}};
    poll(sources);
    return sources[0].revents != 0;
}

void reader_turn::poll(std::span<pollfd> sources) const noexcept {
    sources.back() = {wake_event_, POLLIN, 0};
    if (::poll(sources.data(), sources.size(), -1) <= 0)
        for (pollfd& one : sources) one.revents = 0;
    if (sources.back().revents != 0) {
        std::uint64_t count = 0;
        static_cast<void>(!::read(wake_event_, &count, sizeof count));
    }
}

void reader_turn::wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_event_, &one, sizeof one));
}

}  // namespace mortise::inline v0::base
