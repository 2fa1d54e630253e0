// How a channel's connection is made, lost and closed. See channel.hpp for the states.
#include "base/text.hpp"
#include "net/channel.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

}  // namespace

bool channel::connecting() const {
    return is_ == state::resolving || is_ == state::establishing || is_ == state::greeting;
}

void channel::start() {
    lock held{mutex_};
    if (is_ == state::idle) connect();
}

void channel::connect_if_due() {
    if (is_ == state::idle || (is_ == state::down && clock_.now() >= next_try_)) connect();
}

void channel::connect() {
    is_ = state::resolving;
    begun_ = clock_.now();
    proven_ = false;
    addresses_.clear();
    next_address_ = 0;
    tick_later();
    if (to_.where.port == 0) return;  // until the address is known
    // On a timer, because resolve() may answer inside the call, and the mutex is held.
    clock_.at(begun_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        resolve(self->where(), [weak](std::vector<resolved_address> all, const std::string& why) {
            const auto target = weak.lock();
            if (!target) return;
            lock held{target->mutex_};
            if (target->is_ != state::resolving) return;
            if (all.empty())
                return target->broke(
                    held,
                    {.what = "cannot find host " + base::quoted(target->to_.where.host) + ": " + why, .unmet = true});
            target->addresses_ = std::move(all);
            try {
                target->try_next_address();
            } catch (const error& e) {
                target->broke(held, {static_cast<errc>(e.code().value()), e.what(), true});
            } catch (const std::exception& e) {
                target->broke(held, {errc::unreachable, e.what()});
            }
        });
    });
}

void channel::try_next_address() {
    const resolved_address& next = addresses_.at(next_address_++);
    auto made = connect_to(next.where, next.length);
    if (to_.tls.on) made = with_tls(std::move(made), to_.tls, to_.where.host);
    transport_ = std::move(made);
    is_ = state::establishing;
    turn_.take(this);
    polled_ = sockets_.add(transport_->descriptor(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
    });
    arm(true);
}

void channel::establish(const transport_ptr& made) {
    const transport::result how = made->establish();
    lock held{mutex_};
    if (made != transport_ || is_ != state::establishing) return;
    if (doom_) return broke(held, {});
    switch (how.is) {
        case transport::status::done:
            return established(held);
        case transport::status::wants_read:
            return arm();
        case transport::status::wants_write:
            return arm(true);
        default:
            break;
    }
    if (next_address_ < addresses_.size()) {
        sockets_.remove(std::exchange(polled_, 0));
        transport_.reset();
        try {
            return try_next_address();
        } catch (const std::exception&) {  // report the first error instead
        }
    }
    broke(held, {how.hopeless ? errc::denied : errc::unreachable, to_.reason(how), how.hopeless,
                 how.advises ? trouble::remedy::told : trouble::remedy::unknown, !how.hopeless});
}

void channel::came_up(lock& held) {
    is_ = state::up;
    send_out(held);
}

void channel::proven() {
    if (std::exchange(proven_, true)) return;
    failures_ = 0;
    last_ = {};
}

// ---- when it breaks

trouble channel::silence() const {
    return to_.silence(is_ == state::establishing);
}

void channel::doom(trouble why) {
    if (!transport_) return;
    doom_ = std::move(why);
    transport_->shut_down();
    if (turn_.free()) arm();
}

void channel::broke(lock& held, trouble why) {
    if (is_ == state::closed) return;
    if (doom_) why = *std::exchange(doom_, std::nullopt);
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    const transport_ptr dropped = std::exchange(transport_, nullptr);
    is_ = state::down;
    armed_ = sending_ = blocked_ = false;
    out_.clear();
    turn_.drop(this);
    const milliseconds pause = std::min(first_pause * (1 << std::min(failures_++, 6u)), longest_pause);
    next_try_ = clock_.now() + (why.hopeless ? longest_pause : pause);
    last_ = std::move(why);
    quiet_.notify_all();
    ++inside_;
    lost(held);
    --inside_;
    quiet_.notify_all();
}

void channel::try_again_later() {
    clock_.at(next_try_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        lock held{self->mutex_};
        if (self->is_ == state::down) self->connect();
    });
}

void channel::tick_later() {
    if (std::exchange(ticking_, true)) return;
    clock_.at(clock_.now() + to_.timeout / 4, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

// Checks whether the connection is established and requests are answered in time.
void channel::tick() {
    lock held{mutex_};
    ticking_ = false;
    if (is_ == state::closed) return;
    const bool ours = is_ == state::resolving || turn_.is_of(this);  // this is the io thread
    if (connecting() && ours && (doom_ || clock_.now() - begun_ >= to_.timeout)) {
        broke(held, silence());
        pass_on();
    }
    ++inside_;
    look_for_late(held);
    --inside_;
    quiet_.notify_all();
    if (is_ != state::closed && (connecting() || answers_due())) tick_later();
}

void channel::close() noexcept {
    lock held{mutex_};
    if (is_ == state::closed) return;
    is_ = state::closed;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    if (transport_) transport_->shut_down();
    turn_.wake();
    quiet_.wait(held, [&] { return inside_ == 0 && (turn_.free() || turn_.is_of(this)); });
    transport_.reset();
    forget(held);
}

}  // namespace mortise::inline v0::net
