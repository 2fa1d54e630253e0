#include "stores/etcd/connection.hpp"

#include "base/spare_blocks.hpp"

#include <mortise/error.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::seconds;

// A stream may be silent for long; a connection that is gets a ping. etcd takes it amiss if they come within five seconds.
constexpr seconds silent_before_ping{6};
constexpr seconds between_looks{2};

constexpr std::chrono::milliseconds pings_wait{10};  // until they are answered

// Of something that was on its way when the connection broke, or was late.
ending ending_of(const net::trouble& why, bool untouched) {
    return {.code = why.code == errc::timed_out ? ending::deadline_exceeded : ending::unavailable,
            .text = why.what,
            .untouched = untouched,
            .hopeless = why.code == errc::denied,  // what fails on our side may mend
            .unmet = why.unmet};
}

}  // namespace

connection::connection(settings how, net::endpoint where, spi::clock& clock, net::poller& sockets)
    : channel({.where = std::move(where), .called = "the member", .tls = how.tls, .timeout = how.timeout}, clock,
              sockets),
      settings_(std::move(how)),
      room_(std::make_unique<std::array<char, 65536>>()) {}

// ---- asking

connection::ticket connection::begin(exchange what) {
    lock held{mutex_};
    if (is_ == state::closed) return 0;
    connect_if_due();
    if (is_ == state::down || out_.size() > most_unsent) {
        ending why = ending_of(last_, true);
        if (is_ != state::down)
            why = {
                .code = ending::resource_exhausted, .text = "it takes no more: 64 MiB are unsent", .untouched = true};
        held.unlock();
        what.ended(why, {});
        return 0;
    }
    const ticket made = ++last_ticket_;
    auto& one = *(pending_[made] = base::make_spared<pending>());
    one.what = std::move(what);
    one.begun = clock_.now();
    if (one.what.timeout) {
        ++calls_;
        tick_later();
    } else if (!looking_after_) {
        look_after_later();
    }
    if (is_ != state::up) return made;
    put_forward(made, one);
    send_out(held);
    have_read(!waits_soon());
    return made;
}

void connection::put_forward(ticket which, pending& one) {
    one.stream = session_->begin(one.what.method, one.what.token, one.what.timeout);
    if (one.stream == 0) return doom({errc::unreachable, "the connection has had as many requests as it can"});
    by_stream_[one.stream] = which;
    if (one.what.timeout) session_->say(one.stream, one.what.request, true);
    for (const std::string& each : std::exchange(one.unsaid, {})) session_->say(one.stream, each, false);
}

void connection::say(ticket which, std::string message) {
    lock held{mutex_};
    const auto it = pending_.find(which);
    if (it == pending_.end()) return;
    pending& to = *it->second;
    if (to.stream == 0) return to.unsaid.push_back(std::move(message));
    session_->say(to.stream, message, false);
    send_out(held);
    have_read(false);
}

void connection::drop(ticket which) {
    shared_pending gone;  // after the lock: it may own anything
    lock held{mutex_};
    const auto it = pending_.find(which);
    if (it == pending_.end()) return;
    gone = std::move(it->second);
    pending_.erase(it);
    if (gone->what.timeout) --calls_;
    if (gone->stream == 0) return;
    by_stream_.erase(gone->stream);
    session_->cancel(gone->stream);
    send_out(held);
}

void connection::established(lock& held) {
    heard_ = clock_.now();
    pinged_.reset();
    session_.emplace(to_.where.shown(), settings_.tls.on);
    for (const auto& [which, one] : pending_) put_forward(which, *one);
    came_up(held);
}

// ---- being answered

bool connection::took(const transport_ptr& from, std::size_t bytes) {
    bool well = false;
    {
        lock held{mutex_};
        if (from != transport_ || is_ != state::up) return false;
        heard_ = clock_.now();
        pinged_.reset();
        proven();
        events_.clear();
        well = session_->take_in({room_->data(), bytes}, events_);
        if (session_->hurries()) send_out(held);
        if (session_->answers_pings()) answer_pings_later();
    }
    for (grpc_session::event& each : events_) {
        shared_pending to;
        {
            lock held{mutex_};
            if (from != transport_ || is_ != state::up) return false;
            const auto known = by_stream_.find(each.stream);
            if (known == by_stream_.end()) continue;
            const auto it = pending_.find(known->second);
            to = it->second;
            if (!each.over && to->what.timeout) {
                to->answer = std::move(each.message);
                continue;
            }
            if (each.over) {
                if (to->what.timeout) --calls_;
                pending_.erase(it);
                by_stream_.erase(known);
                if (to->what.timeout && each.end.code == ending::ok && !to->answer)
                    each.end = {.code = ending::internal, .text = "answered without an answer"};
            }
        }
        if (each.over) {
            to->what.ended(each.end, std::move(to->answer).value_or(""));
        } else {
            to->what.heard(each.message);
        }
    }
    lock held{mutex_};
    if (from != transport_ || is_ != state::up) return false;
    if (!well) {
        const std::string more = session_->why().empty() ? "" : " (" + session_->why() + ")";
        broke(held, {.what = "what it says is not HTTP/2" + more, .unmet = true});
        return false;
    }
    if (session_->going()) {
        broke(held, {errc::unreachable, "the member ends the connection"});
        return false;
    }
    return true;
}

// Almost every request makes etcd send a ping. The answer goes with the next one, if that is made soon.
void connection::answer_pings_later() {
    if (std::exchange(answering_pings_, true)) return;
    clock_.at(clock_.now() + pings_wait, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        auto& here = static_cast<connection&>(*self);
        lock held{here.mutex_};
        here.answering_pings_ = false;
        here.send_out(held);
    });
}

// ---- not being answered

void connection::look_for_late(lock& held) {
    std::vector<shared_pending> late;
    const spi::time_point now = clock_.now();
    const net::trouble why = silence();
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
    if (late.empty()) return;
    send_out(held);
    held.unlock();
    for (const shared_pending& one : late) one->what.ended(ending_of(why, one->stream == 0), {});
    late.clear();
    held.lock();
}

void connection::look_after_later() {
    looking_after_ = true;
    clock_.at(clock_.now() + between_looks, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) static_cast<connection&>(*self).look_after();
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
    if (pinged_ && now - *pinged_ >= settings_.timeout) return doom({errc::unreachable, "has not answered a ping"});
    if (pinged_ || now - heard_ < silent_before_ping) return;
    pinged_ = now;
    session_->ping();
    send_out(held);
    have_read(true);
}

void connection::lost(lock& held) {
    const net::trouble why = last_;
    session_.reset();
    by_stream_.clear();
    calls_ = 0;
    std::map<ticket, shared_pending> gone;
    gone.swap(pending_);
    held.unlock();
    for (const auto& [which, one] : gone) one->what.ended(ending_of(why, one->stream == 0), {});
    gone.clear();
    held.lock();
}

void connection::forget(lock& held) noexcept {
    std::map<ticket, shared_pending> gone;
    gone.swap(pending_);
    held.unlock();
}

}  // namespace mortise::inline v0::stores::etcd
