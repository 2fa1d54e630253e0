// How a connection is made, looked after, lost and closed. See connection.hpp for the picture.
#include "base/text.hpp"
#include "stores/etcd/connection.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

// A stream may be silent for long; a connection that is gets a ping. etcd takes it amiss if they come within five seconds.
constexpr seconds silent_before_ping{6};
constexpr seconds between_looks{2};

}  // namespace

void connection::connect() {
    is_ = state::resolving;
    begun_ = clock_.now();
    addresses_.clear();
    next_address_ = 0;
    if (!ticking_) tick_later();
    // Not here: an answer may come at once, and the mutex is held.
    clock_.at(begun_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        net::resolve(self->where_, [weak](std::vector<net::resolved_address> all, const std::string& why) {
            const auto target = weak.lock();
            if (!target) return;
            lock held{target->mutex_};
            if (target->is_ != state::resolving) return;
            if (all.empty())
                return target->broke(held,
                                     {.text = "cannot find host " + base::quoted(target->where_.host) + ": " + why});
            target->addresses_ = std::move(all);
            try {
                target->try_next_address();
            } catch (const std::exception& e) {
                target->broke(held, {.text = e.what()});
            }
        });
    });
}

void connection::try_next_address() {
    const net::resolved_address& next = addresses_.at(next_address_++);
    auto made = net::connect_to(next.where, next.length);
    if (how_.tls.on) made = net::with_tls(std::move(made), how_.tls, where_.host);
    line_ = std::move(made);
    doom_.reset();
    is_ = state::establishing;
    reading_ = this;
    polled_ = sockets_.add(line_->descriptor(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
    });
    arm(true);
}

void connection::establish(const std::shared_ptr<net::transport>& line) {
    using outcome = net::transport::outcome;
    const net::transport::result how = line->establish();
    lock held{mutex_};
    if (line != line_ || is_ != state::establishing) return;
    switch (how.is) {
        case outcome::done:
            is_ = state::up;
            heard_ = clock_.now();
            pinged_.reset();
            ever_heard_ = false;
            session_.emplace(where_.shown(), how_.tls.on);
            for (const auto& [which, one] : pending_) put_forward(which, *one);
            return flush(held);
        case outcome::wants_read:
            return arm();
        case outcome::wants_write:
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
    broke(held, {.text = how.why.empty() ? "the connection was refused" : how.why, .hopeless = how.hopeless});
}

// Why it ended, as far as that can be told.
ending connection::end_of_stream(const net::transport::result& how) const {
    if (how.hopeless) return {.text = how.why, .hopeless = true};
    const std::string what = how.why.empty() ? "the member closed the connection" : how.why;
    if (ever_heard_ || how_.tls.on) return {.text = what};
    return {.text = what + " before it said anything; if it speaks TLS, write etcds://"};
}

ending connection::silence() const {
    ending why{.code = ending::deadline_exceeded, .text = "has not answered for " + base::readable(how_.timeout)};
    if (is_ == state::establishing && how_.tls.on) why.text += "; if it does not speak TLS, write etcd://";
    return why;
}

// From a thread that may not be the one that reads: that one will find the end of the stream.
void connection::doom(ending why) {
    if (!line_) return;
    doom_ = std::move(why);
    line_->shut_down();
    if (reading_ == nullptr) arm();
}

// On the thread that reads, or before there is anything to read. Returns with the mutex held again.
void connection::broke(lock& held, ending why) {
    if (is_ == state::closed) return;
    if (doom_) why = *std::exchange(doom_, std::nullopt);
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    const std::shared_ptr<net::transport> dropped = std::exchange(line_, nullptr);
    is_ = state::down;
    armed_ = sending_ = blocked_ = false;
    out_.clear();
    session_.reset();
    by_stream_.clear();
    calls_ = 0;
    if (reading_ == this) reading_ = nullptr;
    std::map<ticket, shared_pending> lost;
    lost.swap(pending_);
    last_ = why;
    const milliseconds pause = std::min(first_pause * (1 << std::min(failures_++, 6u)), longest_pause);
    next_try_ = clock_.now() + (why.hopeless ? longest_pause : pause);
    quiet_.notify_all();
    ++inside_;
    held.unlock();
    for (const auto& [which, one] : lost) {
        ending mine = why;
        mine.untouched = one->stream == 0;
        one->what.ended(mine, {});
    }
    lost.clear();
    held.lock();
    --inside_;
    quiet_.notify_all();
}

void connection::tick_later() {
    ticking_ = true;
    clock_.at(clock_.now() + how_.timeout / 4, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

// Whether calls are answered in time, and whether a connection comes about.
void connection::tick() {
    std::vector<shared_pending> late;
    ending why;
    lock held{mutex_};
    ticking_ = false;
    if (is_ == state::closed) return;
    const spi::time_point now = clock_.now();
    why = silence();
    if ((is_ == state::resolving || is_ == state::establishing) && now - begun_ >= how_.timeout) {
        if (is_ == state::resolving || reading_ == this) {  // the io thread's, and this is it
            broke(held, why);
            pass_on();
        }
    }
    for (auto it = pending_.begin(); it != pending_.end();) {
        const shared_pending one = it->second;
        if (!one->what.timeout || now - one->begun < *one->what.timeout) {
            ++it;
            continue;
        }
        it = pending_.erase(it);
        --calls_;
        if (one->stream != 0) {
            by_stream_.erase(one->stream);
            session_->cancel(one->stream);
        }
        if (is_ == state::up && heard_ < one->begun) doom(why);
        late.push_back(one);
    }
    if (!late.empty() && is_ == state::up && !sending_) flush(held);
    if (!ticking_ && (calls_ > 0 || is_ == state::resolving || is_ == state::establishing)) tick_later();
    if (late.empty()) return;
    ++inside_;
    held.unlock();
    for (const shared_pending& one : late) {
        ending mine = why;
        mine.untouched = one->stream == 0;
        one->what.ended(mine, {});
    }
    late.clear();
    held.lock();
    --inside_;
    quiet_.notify_all();
}

void connection::look_after_later() {
    looking_after_ = true;
    clock_.at(clock_.now() + between_looks, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->look_after();
    });
}

// Streams have no deadline. A connection that is cut somewhere on the way says nothing, and looks like one that has nothing to say.
void connection::look_after() {
    lock held{mutex_};
    looking_after_ = false;
    if (is_ == state::closed || pending_.empty()) return;
    look_after_later();
    if (is_ != state::up) return;
    const spi::time_point now = clock_.now();
    if (pinged_ && now - *pinged_ >= how_.timeout) return doom({.text = "has not answered a ping"});
    if (pinged_ || now - heard_ < silent_before_ping) return;
    pinged_ = now;
    session_->ping();
    if (!sending_) flush(held);
    if (reading_ == nullptr && !armed_ && is_ == state::up) arm(blocked_);
}

void connection::close() noexcept {
    lock held{mutex_};
    if (is_ == state::closed) return;
    is_ = state::closed;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    if (line_) line_->shut_down();
    const std::uint64_t one = 1;
    static_cast<void>(!::write(bell_, &one, sizeof one));
    quiet_.wait(held, [&] { return inside_ == 0 && (reading_ == nullptr || reading_ == this); });
    std::map<ticket, shared_pending> dropped;
    dropped.swap(pending_);
    line_.reset();
    held.unlock();
}

}  // namespace mortise::inline v0::stores::etcd
