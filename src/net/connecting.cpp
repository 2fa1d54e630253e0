// How a channel's connection is made, lost and closed. See channel.hpp for the picture.
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
    if (to_.where.port == 0) return;  // until somebody says where
    // Not here: an answer may come at once, and the mutex is held.
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
    line_ = std::move(made);
    is_ = state::establishing;
    reading_ = this;
    polled_ = sockets_.add(line_->descriptor(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
    });
    arm(true);
}

void channel::establish(const line& made) {
    const transport::result how = made->establish();
    lock held{mutex_};
    if (made != line_ || is_ != state::establishing) return;
    if (doom_) return broke(held, {});
    switch (how.is) {
        case transport::outcome::done:
            return established(held);
        case transport::outcome::wants_read:
            return arm();
        case transport::outcome::wants_write:
            return arm(true);
        default:
            break;
    }
    if (next_address_ < addresses_.size()) {
        sockets_.remove(std::exchange(polled_, 0));
        line_.reset();
        try {
            return try_next_address();
        } catch (const std::exception&) {  // then this one's trouble is as good as any
        }
    }
    broke(held, {how.hopeless ? errc::denied : errc::unreachable, reason(how), how.hopeless,
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

std::string channel::reason(const transport::result& how) const {
    return how.why.empty() ? to_.called + " closed the connection" : how.why;
}

// Why it ended, as far as that can be told.
trouble channel::end_of_stream(const transport::result& how) const {
    if (how.hopeless) return {errc::denied, how.why, true};
    if (proven_ || to_.tls.on) return {errc::unreachable, reason(how)};
    return {errc::unreachable, reason(how) + " before it said anything; if it speaks TLS, " + to_.tls.if_needed, false,
            trouble::remedy::told, true};
}

trouble channel::silence() const {
    using enum trouble::remedy;
    if (to_.where.port == 0) return {errc::timed_out, to_.unknown, false, told};
    const std::string what = "has not answered for " + base::readable(to_.timeout);
    if (is_ != state::establishing || !to_.tls.on) return {errc::timed_out, what};
    return {errc::timed_out, what + "; if it does not speak TLS, " + to_.tls.if_silent, false, told};
}

void channel::doom(trouble why) {
    if (!line_) return;
    doom_ = std::move(why);
    line_->shut_down();
    if (reading_ == nullptr) arm();
}

void channel::broke(lock& held, trouble why) {
    if (is_ == state::closed) return;
    if (doom_) why = *std::exchange(doom_, std::nullopt);
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    const line dropped = std::exchange(line_, nullptr);
    is_ = state::down;
    armed_ = sending_ = blocked_ = false;
    out_.clear();
    if (reading_ == this) reading_ = nullptr;
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

// Whether a connection comes about, and answers come in time.
void channel::tick() {
    lock held{mutex_};
    ticking_ = false;
    if (is_ == state::closed) return;
    const bool ours = is_ == state::resolving || reading_ == this;  // the io thread's, and this is it
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
    if (line_) line_->shut_down();
    ring();
    quiet_.wait(held, [&] { return inside_ == 0 && (reading_ == nullptr || reading_ == this); });
    line_.reset();
    forget(held);
}

}  // namespace mortise::inline v0::net
