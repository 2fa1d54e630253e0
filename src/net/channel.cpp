// Who writes and who reads. Making, losing and closing a connection is in connecting.cpp.
#include "net/channel.hpp"

#include "base/descriptors.hpp"

#include <mortise/error.hpp>

#include <cstring>
#include <string_view>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mortise::inline v0::net {
namespace {

using std::chrono::milliseconds;

// A buffer that is larger is given back.
constexpr std::size_t most_spare = std::size_t{64} << 10;

// For so long the io thread leaves a socket alone that callers read now and then.
constexpr milliseconds idle_before_armed{10};

// This thread reads for itself in a moment.
thread_local bool reads_soon = false;

// The sleeper that this thread reads for.
thread_local const spi::sleeper* reads_for = nullptr;

}  // namespace

channel::channel(destination to, spi::clock& clock, poller& sockets)
    : clock_(clock), to_(std::move(to)), sockets_(sockets) {
    const base::standard_descriptors_taken out_of_the_way;
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ < 0)
        throw error(errc::exhausted, std::string("cannot make an eventfd: ") + std::strerror(errno) +
                                         "; raise the limit of open files (ulimit -n)");
}

channel::~channel() {
    ::close(bell_);
}

endpoint channel::where() const {
    lock held{mutex_};
    return to_.where;
}

bool channel::up() const {
    lock held{mutex_};
    return is_ == state::up;
}

bool channel::down() const {
    lock held{mutex_};
    return is_ == state::down;
}

// ---- who writes

void channel::take_out(std::string&) {}

void channel::send_out(lock& held) {
    if (is_ == state::up && !sending_) flush(held);
}

// Sends for all until nothing is left. Never blocks: what the socket does not take is left to the io thread.
void channel::flush(lock& held) {
    sending_ = true;
    std::string bytes = std::exchange(spare_, {});
    while (is_ == state::up) {
        take_out(out_);
        if (out_.empty()) break;
        bytes.clear();
        bytes.swap(out_);
        const line to = line_;
        std::string_view rest = bytes;
        transport::result said{};
        held.unlock();
        while (!rest.empty()) {
            said = to->write(rest);
            if (said.is != transport::outcome::done) break;
            rest.remove_prefix(said.bytes);
        }
        held.lock();
        if (to != line_) return;  // it broke meanwhile: all that was sent has failed, and others send by now
        if (said.is == transport::outcome::failed || said.is == transport::outcome::closed) {
            doom({errc::unreachable, reason(said)});
            break;
        }
        if (!rest.empty()) {
            out_.insert(0, rest);
            blocked_ = true;
            arm(true);
            return;  // sending_ stays: ready() goes on
        }
    }
    sending_ = false;
    if (bytes.capacity() <= most_spare) spare_ = std::move(bytes);
}

// ---- who reads

bool channel::wait(spi::sleeper& who, bool only_while_due) {
    reads_soon = false;  // what the answers to others make it send is not what it waits for
    lock held{mutex_};
    while (true) {
        if (who.is.load() == spi::sleeper::answered && reading_ != &who) return true;
        if (reading_ == nullptr && is_ == state::up) {
            reading_ = &who;
            disarm();
        }
        if (reading_ != &who) {
            int was = spi::sleeper::awake;
            if (!who.is.compare_exchange_strong(was, spi::sleeper::asleep)) continue;
            const auto place = followers_.insert(followers_.end(), &who);
            held.unlock();
            who.is.wait(spi::sleeper::asleep);
            held.lock();
            if (reading_ != &who) followers_.erase(place);  // else whoever chose it did
            continue;
        }
        const line from = line_;
        const auto worth_it = [&] { return from == line_ && is_ == state::up && (!only_while_due || answers_due()); };
        bool goes_on = worth_it();
        held.unlock();
        reads_for = &who;
        while (goes_on && who.is.load() != spi::sleeper::answered) {
            pollfd sources[] = {{from->descriptor(), POLLIN, 0}, {bell_, POLLIN, 0}};
            ::poll(sources, 2, -1);
            if (sources[1].revents != 0) {
                std::uint64_t rung = 0;
                static_cast<void>(!::read(bell_, &rung, sizeof rung));
            }
            if (sources[0].revents != 0) take_in(from);
            lock again{mutex_};
            goes_on = worth_it();
        }
        reads_for = nullptr;
        held.lock();
        if (reading_ == &who) reading_ = nullptr;  // else it broke, and the io thread makes it anew
        pass_on();
        if (who.is.load() == spi::sleeper::answered) return true;
        if (only_while_due && is_ == state::up && !answers_due()) return false;
    }
}

void channel::nudge(const spi::sleeper& who) noexcept {
    if (reads_for == &who) return;
    lock held{mutex_};
    if (reading_ == &who) ring();
}

void channel::ring() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(bell_, &one, sizeof one));
}

void channel::will_wait(bool whether) noexcept {
    reads_soon = whether;
}

bool channel::waits_soon() noexcept {
    return reads_soon;
}

void channel::expect(bool whether) {
    lock held{mutex_};
    expecting_ = whether;
    if (whether && !reads_soon) have_read(true);
}

void channel::serve(milliseconds at_most, const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const line from = [&] {
        lock held{mutex_};
        if (is_ != state::up || reading_ != nullptr) return line{};
        reading_ = &until;
        disarm();
        return line_;
    }();
    if (!from) return;
    bool goes_on = true;
    while (goes_on && !enough()) {
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        pollfd source{from->descriptor(), POLLIN, 0};
        if (::poll(&source, 1, static_cast<int>(left.count())) > 0) take_in(from);
        lock again{mutex_};
        goes_on = from == line_ && is_ == state::up;
    }
    lock held{mutex_};
    if (reading_ == &until) reading_ = nullptr;
    pass_on();
}

void channel::pass_on() {
    quiet_.notify_all();
    if (is_ != state::up || reading_ != nullptr) return;
    for (auto it = followers_.begin(); it != followers_.end(); ++it) {
        spi::sleeper* const next = *it;
        int was = spi::sleeper::asleep;
        if (!next->is.compare_exchange_strong(was, spi::sleeper::awake)) continue;  // answered, and on its way out
        followers_.erase(it);
        reading_ = next;
        next->is.notify_one();
        return;
    }
    if (expecting_ || blocked_ || answers_due()) {
        arm(blocked_);
    } else {
        arm_later();
    }
}

void channel::have_read(bool at_once) {
    if (is_ != state::up || reading_ != nullptr || armed_) return;
    if (at_once) {
        arm(blocked_);
    } else {
        arm_later();
    }
}

void channel::arm(bool to_write) {
    if (polled_ == 0) return;
    armed_ = true;
    sockets_.arm(polled_, reading_ == nullptr || reading_ == this, to_write);
}

void channel::disarm() {
    if (!armed_ || blocked_) return;
    armed_ = false;
    sockets_.arm(polled_, false, false);
}

void channel::arm_later() {
    if (armed_ || std::exchange(arming_, true)) return;
    clock_.at(clock_.now() + idle_before_armed, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        lock held{self->mutex_};
        self->arming_ = false;
        if (self->is_ == state::up && self->reading_ == nullptr) self->arm(self->blocked_);
    });
}

// The io thread, told by the poller.
void channel::ready() {
    line from;
    state was{};
    {
        lock held{mutex_};
        armed_ = false;
        from = line_;
        was = is_;
        if (!from || was == state::closed) return;
        if (was == state::up && std::exchange(blocked_, false)) flush(held);
        if (reading_ != nullptr && reading_ != this) return;  // a caller does
        reading_ = this;
        ++inside_;
    }
    if (was == state::establishing) {
        establish(from);
    } else {
        take_in(from);
    }
    lock held{mutex_};
    --inside_;
    if (is_ == state::establishing) return;  // keeps the role, and has armed
    if (is_ == state::greeting) return arm();
    reading_ = nullptr;
    pass_on();
}

void channel::take_in(const line& from) {
    while (true) {
        const std::span<char> into = space();
        const transport::result got = from->read(into);
        if (got.is == transport::outcome::wants_read || got.is == transport::outcome::wants_write) return;
        if (got.is != transport::outcome::done) {
            lock held{mutex_};
            if (from == line_) broke(held, end_of_stream(got));
            return;
        }
        if (!took(from, got.bytes)) return;
        if (got.bytes < into.size() && !from->holds_more()) return;
    }
}

}  // namespace mortise::inline v0::net
