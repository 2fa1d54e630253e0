#include "stores/redis/connection.hpp"

#include <mortise/error.hpp>

#include <algorithm>
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
        if (is_ == state::closed) return;
        connect_if_due();
        if (is_ != state::down && out_.size() + bytes.size() <= most_unsent) {
            out_ += bytes;
            const spi::time_point now = clock_.now();
            for (handler& one : done) pending_.push_back({std::move(one), now});
            tick_later();
            send_out(held);
            have_read(!waits_soon() || !plan_.waited_on);
            return;
        }
        why = is_ == state::down ? last_
                                 : trouble{errc::exhausted, to_.where.shown() + " takes no more: 64 MiB are unsent"};
    }
    const reply failed = failure_of(why, settings_);
    for (handler& one : done) one(failed);
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
        const bool message =
            answer.is == reply::kind::push && answer.items.size() == 3 && answer.items[0].text == "message";
        if (message) {
            if (callbacks_.pushed) callbacks_.pushed(answer.items[1].text, answer.items[2].text);
            continue;
        }
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
            if (answer.is == reply::kind::push) continue;
            if (pending_.empty()) {
                broke(held, {errc::unreachable, "the server answered what it was not asked"});
                return false;
            }
            done = std::move(pending_.front().done);
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
    if (answer.is != net::transport::status::done || answer.bytes != bytes.size())
        broke(held, {errc::unreachable, answer.why.empty() ? "takes no greeting" : answer.why});
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
