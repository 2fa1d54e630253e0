#include "stores/redis/connection.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

// With several servers, one that is down may be replaced, so `unmet` is for single servers only.
reply failure_of(const trouble& why, const settings& config) {
    return {.is = reply::kind::failed,
            .helps = why.helps,
            .number = why.hopeless ? static_cast<int>(why.code) : 0,
            .text = why.what,
            .unmet = why.unmet && config.shape == settings::topology::single};
}

}  // namespace

connection::connection(settings config, plan what, hooks callbacks, spi::clock& clock, poller& sockets)
    : channel({.where = what.where, .unknown = what.unknown, .tls = config.tls, .timeout = config.timeout}, clock,
              sockets),
      settings_(std::move(config)),
      plan_(std::move(what)),
      callbacks_(std::move(callbacks)) {}

void connection::move_to(const endpoint& where) {
    lock held{mutex_};
    if (where == to_.where || is_ == state::closed) return;
    to_.where = where;
    failures_ = 0;
    if (transport_) {
        doom({errc::unreachable, "is no longer asked; " + where.shown() + " is", false, trouble::remedy::told});
    } else if (is_ != state::idle) {
        connect();
    }
}

void connection::fail(const trouble& why) {
    lock held{mutex_};
    if (is_ == state::resolving) broke(held, why);
}

void connection::start_over(const trouble& why) {
    lock held{mutex_};
    if (is_ == state::up) doom(why);
}

std::string connection::flaw() const {
    lock held{mutex_};
    return flaw_.empty() ? "" : to_.where.shown() + ": " + flaw_;
}

// ---- commands and replies

void connection::send(std::string_view bytes, std::span<handler> done) {
    trouble why;
    {
        lock held{mutex_};
        if (is_ == state::closed || take(held, bytes, done)) return;
        why = why_not_taken();
    }
    const reply failed = failure_of(why, settings_);
    for (handler& one : done) one(failed);
}

bool connection::take(lock& held, std::string_view bytes, std::span<handler> done, std::string_view topic) {
    connect_if_due();
    if (is_ == state::down || out_.size() + bytes.size() > most_unsent) return false;
    out_ += bytes;
    const spi::time_point now = clock_.now();
    for (handler& one : done) pending_.push_back({std::move(one), now, std::string(topic)});
    if (!topic.empty()) channels_.asked(topic);
    tick_later();
    send_out(held);
    have_read(!waits_soon() || !plan_.waited_on);
    return true;
}

trouble connection::why_not_taken() const {
    if (is_ == state::down) return last_;
    return {errc::exhausted, to_.where.shown() + " takes no more: 64 MiB are unsent"};
}

// ---- channels

// In a cluster a message goes to the node that keeps the channel's slot; what a node tells of its own keys, to its own
// subscribers.
std::string connection::subscription(std::string_view topic, bool whether) const {
    const bool sharded = settings_.shape == settings::topology::cluster && !topic.starts_with("__key");
    std::string bytes;
    append(bytes, {std::string(sharded ? "S" : "") + (whether ? "SUBSCRIBE" : "UNSUBSCRIBE"), topic});
    return bytes;
}

// Whether the server says anything there.
bool connection::told(std::string_view topic) const {
    return notifies_ || !topic.starts_with("__key");
}

void connection::listen(std::string_view topic, handler ready) {
    trouble why;
    {
        lock held{mutex_};
        if (is_ == state::closed) return;
        if (channels_.has_left(topic)) {
            held.unlock();
            return ready({.is = reply::kind::text});
        }
        const bool heard = channels_.join(topic) && is_ == state::up;
        expect(held, true);
        if (is_ == state::up && (heard || !told(topic))) {
            held.unlock();
            return ready(
                {.is = heard ? reply::kind::text : reply::kind::error, .text = "notify-keyspace-events is off"});
        }
        if (take(held, subscription(topic, true), {&ready, 1}, topic)) return;
        why = why_not_taken();
    }
    ready(failure_of(why, settings_));
}

void connection::leave(std::string_view topic) {
    lock held{mutex_};
    if (is_ == state::closed) return;
    const bool last = channels_.leave(topic);
    if (channels_.empty()) expect(held, false);
    handler ignored = [](const reply&) {};
    if (last && is_ != state::down) take(held, subscription(topic, false), {&ignored, 1}, topic);
}

// Before all else: a claim that is repeated now must not miss the message that follows.
void connection::subscribe_again() {
    std::string bytes;
    std::deque<pending> first;
    for (const std::string& topic : channels_.wanted()) {
        bytes += subscription(topic, true);
        channels_.asked(topic);
        first.push_back({[](const reply&) {}, clock_.now(), topic});
    }
    out_.insert(0, bytes);
    pending_.insert(pending_.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
}

// A message, or the answer to a subscription. True: it is the latter.
bool connection::pushed(const reply& news) {
    if (news.items.size() != 3) return false;
    const std::string_view what = news.items[0].text;
    if (what == "message" || what == "smessage") {
        if (callbacks_.pushed) callbacks_.pushed(news.items[1].text, news.items[2].text);
        return false;
    }
    bool ended = false;
    {
        lock held{mutex_};
        if (is_ != state::up) return is_ == state::greeting;
        if (!pending_.empty() && !pending_.front().channel.empty() && pending_.front().channel == news.items[1].text)
            return true;
        ended = what == "sunsubscribe";
    }
    if (ended && callbacks_.unheard) callbacks_.unheard();
    return false;
}

bool connection::took(const transport_ptr& from, std::size_t bytes) {
    input_.filled(bytes);
    reply answer;
    while (true) {
        const reader::parse_status parsed = input_.next(answer);
        if (parsed == reader::parse_status::more) return true;
        if (parsed == reader::parse_status::broken) {
            lock held{mutex_};
            if (from != transport_) return false;
            if (is_ == state::greeting) {
                broke(held, {errc::unreachable,
                             "what it says is not Redis' protocol; is the port right? If it speaks TLS, write "
                             "rediss:// or tls=1",
                             true});
            } else {
                broke(held, {errc::unreachable, "what it says is Redis' protocol no longer"});
            }
            return false;
        }
        if (answer.is == reply::kind::push && !pushed(answer)) continue;
        handler done;
        {
            lock held{mutex_};
            if (from != transport_) return false;
            heard_ = clock_.now();
            if (is_ == state::greeting) {
                held.unlock();
                if (!greeted(answer)) return false;
                continue;
            }
            if (pending_.empty()) {
                broke(held, {errc::unreachable, "the server answered what it was not asked"});
                return false;
            }
            done = std::move(pending_.front().done);
            if (!pending_.front().channel.empty()) channels_.answered(pending_.front().channel);
            pending_.pop_front();
        }
        done(answer);
    }
}

void connection::look_for_late(lock&) {
    if (is_ != state::up || pending_.empty()) return;
    if (clock_.now() - std::max(pending_.front().sent, heard_) >= settings_.timeout) doom(silence());
}

// ---- the handshake

void connection::established(lock& held) {
    is_ = state::greeting;
    const transport_ptr to = transport_;
    held.unlock();
    handshake_ = handshake{settings_, plan_};
    const std::string& bytes = handshake_.bytes();
    const net::transport::result answer = to->write(bytes);  // a fresh socket takes more than this
    held.lock();
    if (to != transport_) return;
    if (answer.is == net::transport::status::failed || answer.is == net::transport::status::closed)
        broke(held, to_.broken(answer));
    else if (answer.is != net::transport::status::done || answer.bytes != bytes.size())
        broke(held, {errc::unreachable, "takes no greeting"});
}

// False: the connection is gone.
bool connection::greeted(const reply& answer) {
    const auto wrong = handshake_.take(answer);
    lock held{mutex_};
    if (wrong) {
        broke(held, *wrong);
        return false;
    }
    if (is_ != state::greeting || !handshake_.complete()) return is_ == state::greeting;
    proven();
    flaw_ = handshake_.flaw();
    notifies_ = handshake_.notifies();
    subscribe_again();
    came_up(held);
    held.unlock();
    if (callbacks_.up) callbacks_.up();
    return true;
}

// ---- when it breaks

void connection::lost(lock& held) {
    if (to_.where.port != 0) last_.what = to_.where.shown() + ": " + last_.what;
    if (!last_.hopeless) try_again_later();
    input_ = {};
    const trouble why = last_;
    const bool was_up = proven_;
    std::deque<pending> gone;
    gone.swap(pending_);
    channels_.lost();
    scripts_there_.begin_anew();
    held.unlock();
    const reply failed = failure_of(why, settings_);
    for (pending& one : gone) one.done(failed);
    gone.clear();
    if (callbacks_.down && (was_up || why.hopeless)) callbacks_.down(why);
    held.lock();
}

void connection::forget(lock& held) noexcept {
    std::deque<pending> gone;
    gone.swap(pending_);
    held.unlock();
}

}  // namespace mortise::inline v0::stores::redis
