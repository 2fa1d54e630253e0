#include "stores/redis/connection.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

// Where there are several servers, one that is away may be replaced.
reply failure_of(const trouble& why, const settings& how) {
    return {.is = reply::kind::failed,
            .helps = why.helps,
            .number = why.hopeless ? static_cast<int>(why.code) : 0,
            .text = why.what,
            .unmet = why.unmet && how.shape == settings::topology::single};
}

}  // namespace

connection::connection(settings how, plan what, hooks tell, spi::clock& clock, poller& sockets)
    : channel({.where = what.where, .unknown = what.unknown, .tls = how.tls, .timeout = how.timeout}, clock, sockets),
      how_(std::move(how)),
      plan_(std::move(what)),
      tell_(std::move(tell)) {}

void connection::move_to(const endpoint& where) {
    lock held{mutex_};
    if (where == to_.where || is_ == state::closed) return;
    to_.where = where;
    failures_ = 0;
    if (line_) {
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

// ---- asking and being answered

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
    const reply failed = failure_of(why, how_);
    for (handler& one : done) one(failed);
}

bool connection::took(const line& from, std::size_t bytes) {
    input_.filled(bytes);
    reply said;
    while (true) {
        const reader::outcome how = input_.next(said);
        if (how == reader::outcome::more) return true;
        if (how == reader::outcome::broken) {
            lock held{mutex_};
            if (from != line_) return false;
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
        const bool message = said.is == reply::kind::push && said.items.size() == 3 && said.items[0].text == "message";
        if (message) {
            if (tell_.pushed) tell_.pushed(said.items[1].text, said.items[2].text);
            continue;
        }
        handler done;
        {
            lock held{mutex_};
            if (from != line_) return false;
            heard_ = clock_.now();
            if (is_ == state::greeting) {
                held.unlock();
                if (!greeted(said)) return false;
                continue;
            }
            if (said.is == reply::kind::push) continue;
            if (pending_.empty()) {
                broke(held, {errc::unreachable, "the server answered what it was not asked"});
                return false;
            }
            done = std::move(pending_.front().done);
            pending_.pop_front();
        }
        done(said);
    }
}

void connection::look_for_late(lock&) {
    if (is_ != state::up || pending_.empty()) return;
    if (clock_.now() - std::max(pending_.front().sent, heard_) >= how_.timeout) doom(silence());
}

// ---- the greeting

void connection::established(lock& held) {
    is_ = state::greeting;
    const line to = line_;
    held.unlock();
    greeting_ = greeting{how_, plan_};
    const std::string& bytes = greeting_.bytes();
    const net::transport::result said = to->write(bytes);  // a fresh socket takes more than this
    held.lock();
    if (to != line_) return;
    if (said.is != net::transport::outcome::done || said.bytes != bytes.size())
        broke(held, {errc::unreachable, said.why.empty() ? "takes no greeting" : said.why});
}

// False: the connection is no more.
bool connection::greeted(const reply& said) {
    const auto wrong = greeting_.take(said);
    lock held{mutex_};
    if (wrong) {
        broke(held, *wrong);
        return false;
    }
    if (is_ != state::greeting || !greeting_.complete()) return is_ == state::greeting;
    proven();
    flaw_ = greeting_.flaw();
    came_up(held);
    held.unlock();
    if (tell_.up) tell_.up();
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
    const reply failed = failure_of(why, how_);
    for (pending& one : gone) one.done(failed);
    gone.clear();
    if (tell_.down && (was_up || why.hopeless)) tell_.down(why);
    held.lock();
}

void connection::forget(lock& held) noexcept {
    std::deque<pending> gone;
    gone.swap(pending_);
    held.unlock();
}

}  // namespace mortise::inline v0::stores::redis
