// Who writes and who reads. How the connection is made, lost and closed is in channel_lifecycle.cpp.
#include "net/channel.hpp"

#include <mortise/error.hpp>

#include <string_view>
#include <utility>

#include <poll.h>

namespace mortise::inline v0::net {
namespace {

using std::chrono::milliseconds;

// Larger buffers are freed.
constexpr std::size_t most_spare = std::size_t{64} << 10;

// How long the io thread leaves a socket to callers that read it now and then.
constexpr milliseconds idle_before_armed{10};

// This thread is about to read for itself.
thread_local bool reads_soon = false;

// Where this thread has sent what it is about to read the reply to.
thread_local const void* asked_on = nullptr;

// The sleeper that this thread reads for.
thread_local const spi::sleeper* reads_for = nullptr;

}  // namespace

channel::channel(destination to, spi::clock& clock, poller& sockets)
    : clock_(clock), to_(std::move(to)), sockets_(sockets) {}
channel::~channel() = default;

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

void protocol::take_out(std::string&) {}

void channel::send_out(lock& held) {
    if (reads_soon) asked_on = this;
    if (is_ == state::up && !sending_) flush(held);
}

// Sends for all threads until nothing is left. Never blocks: the io thread sends what the socket does not take now.
void channel::flush(lock& held) {
    sending_ = true;
    std::string bytes = std::exchange(spare_, {});
    while (is_ == state::up) {
        take_out(out_);
        if (out_.empty()) break;
        bytes.clear();
        bytes.swap(out_);
        const transport_ptr to = transport_;
        std::string_view rest = bytes;
        transport::result sent{};
        held.unlock();
        while (!rest.empty()) {
            sent = to->write(rest);
            if (sent.is != transport::status::done) break;
            rest.remove_prefix(sent.bytes);
        }
        held.lock();
        if (to != transport_) return;  // it broke meanwhile: what was sent has failed, and others are sending
        if (sent.is == transport::status::failed || sent.is == transport::status::closed) {
            doom(to_.broken(sent));
            break;
        }
        if (!rest.empty()) {
            out_.insert(0, rest);
            blocked_ = true;
            arm(true);
            return;  // sending_ stays set: ready() continues
        }
    }
    sending_ = false;
    if (bytes.capacity() <= most_spare) spare_ = std::move(bytes);
}

// ---- who reads

bool channel::wait(spi::sleeper& who, bool only_while_due) {
    reads_soon = false;  // what the replies to others make it send is not what it waits for
    // Only the reply to its own request ends this wait soon, so nobody need be able to wake it. Later, others may.
    bool asked = std::exchange(asked_on, nullptr) == this;
    lock held{mutex_};
    while (true) {
        if (who.is.load() == spi::sleeper::answered && !turn_.is_of(&who)) return true;
        if (turn_.free() && is_ == state::up) {
            turn_.take(&who);
            disarm();
        }
        if (!turn_.is_of(&who)) {
            turn_.follow(held, who);
            continue;
        }
        const transport_ptr from = transport_;
        const auto worth_it = [&] {
            return from == transport_ && is_ == state::up && (!only_while_due || answers_due());
        };
        bool goes_on = worth_it();
        held.unlock();
        reads_for = &who;
        while (goes_on && who.is.load() != spi::sleeper::answered) {
            if (const bool awaiting = std::exchange(asked, false); awaiting || turn_.poll(from->descriptor()))
                take_in(from, awaiting);
            if (who.is.load() == spi::sleeper::answered) break;
            lock again{mutex_};
            goes_on = worth_it();
        }
        reads_for = nullptr;
        held.lock();
        turn_.drop(&who);  // unless it broke, and the io thread makes it anew
        pass_on();
        if (who.is.load() == spi::sleeper::answered) return true;
        if (only_while_due && is_ == state::up && !answers_due()) return false;
    }
}

void channel::nudge(const spi::sleeper& who) noexcept {
    if (reads_for == &who) return;
    lock held{mutex_};
    if (turn_.is_of(&who)) turn_.wake();
}

void channel::will_wait(bool whether) noexcept {
    reads_soon = whether;
    asked_on = nullptr;
}

bool channel::waits_soon() noexcept {
    return reads_soon;
}

void channel::expect(bool whether) {
    lock held{mutex_};
    expect(held, whether);
}

void channel::expect(lock&, bool whether) {
    expecting_ = whether;
    if (whether && !reads_soon) have_read(true);
}

void channel::serve(milliseconds at_most, const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const transport_ptr from = [&] {
        lock held{mutex_};
        if (is_ != state::up || !turn_.free()) return transport_ptr{};
        turn_.take(&until);
        disarm();
        return transport_;
    }();
    if (!from) return;
    bool goes_on = true;
    while (goes_on && !enough()) {
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        pollfd source{from->descriptor(), POLLIN, 0};
        if (::poll(&source, 1, static_cast<int>(left.count())) > 0) take_in(from);
        lock again{mutex_};
        goes_on = from == transport_ && is_ == state::up;
    }
    lock held{mutex_};
    turn_.drop(&until);
    pass_on();
}

int channel::take_turn(const spi::sleeper& who) {
    lock held{mutex_};
    if (is_ != state::up || !turn_.free()) return -1;
    turn_.take(&who);
    disarm();
    return transport_->descriptor();
}

bool channel::read_in_turn(const spi::sleeper& who) {
    const auto source = [&] {
        lock held{mutex_};
        return turn_.is_of(&who) && is_ == state::up ? transport_ : nullptr;
    };
    const transport_ptr from = source();
    if (from) take_in(from);
    return from && from == source();
}

void channel::leave_turn(const spi::sleeper& who, bool soon) noexcept {
    lock held{mutex_};
    turn_.drop(&who);
    pass_on(!soon);
}

void channel::pass_on(bool at_once) {
    quiet_.notify_all();
    if (is_ != state::up || !turn_.free() || turn_.pass_on()) return;
    if (expecting_ || blocked_ || (at_once && answers_due())) {
        arm(blocked_);
    } else {
        arm_later();
    }
}

void channel::have_read(bool at_once) {
    if (is_ != state::up || !turn_.free() || armed_) return;
    if (at_once) {
        arm(blocked_);
    } else {
        arm_later();
    }
}

void channel::arm(bool to_write) {
    if (polled_ == 0) return;
    armed_ = true;
    sockets_.arm(polled_, turn_.free() || turn_.is_of(this), to_write);
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
        if (self->is_ == state::up && self->turn_.free()) self->arm(self->blocked_);
    });
}

// On the io thread, called by the poller.
void channel::ready() {
    transport_ptr from;
    state was{};
    {
        lock held{mutex_};
        armed_ = false;
        from = transport_;
        was = is_;
        if (!from || was == state::closed) return;
        if (was == state::up && std::exchange(blocked_, false)) flush(held);
        if (!turn_.free() && !turn_.is_of(this)) return;  // a caller reads
        turn_.take(this);
        ++inside_;
    }
    if (was == state::establishing) {
        establish(from);
    } else {
        take_in(from);
    }
    lock held{mutex_};
    --inside_;
    if (is_ == state::establishing) return;  // keeps the turn, and has armed
    if (is_ == state::greeting) return arm();
    turn_.drop(this);
    pass_on();
}

void channel::take_in(const transport_ptr& from, bool awaiting) {
    while (true) {
        const std::span<char> into = space();
        const transport::result got = std::exchange(awaiting, false) ? from->await(into) : from->read(into);
        if (got.is == transport::status::wants_read || got.is == transport::status::wants_write) return;
        if (got.is != transport::status::done) {
            lock held{mutex_};
            if (from == transport_) broke(held, to_.end_of_stream(got, proven_));
            return;
        }
        if (!took(from, got.bytes)) return;
        if (got.bytes < into.size() && !from->holds_more()) return;
    }
}

}  // namespace mortise::inline v0::net
