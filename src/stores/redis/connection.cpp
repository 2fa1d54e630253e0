#include "stores/redis/connection.hpp"

#include "base/descriptors.hpp"
#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstring>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;

// For so long the io thread leaves a socket alone that callers read now and then.
constexpr milliseconds idle_before_armed{10};

// More than this on its way to a server that does not take it is refused.
constexpr std::size_t most_unsent = std::size_t{64} << 20;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

// This thread reads for itself in a moment.
thread_local bool waits_soon = false;

// The sleeper that this thread reads for.
thread_local const spi::sleeper* reading_for = nullptr;

}  // namespace

connection::connection(settings how, plan what, hooks tell, spi::clock& clock, poller& sockets)
    : how_(std::move(how)), plan_(std::move(what)), tell_(std::move(tell)), clock_(clock), sockets_(sockets) {
    const base::standard_descriptors_taken out_of_the_way;
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ < 0) throw error(errc::exhausted, std::string("cannot make an eventfd: ") + std::strerror(errno));
}

connection::~connection() {
    ::close(bell_);
}

endpoint connection::where() const {
    lock held{mutex_};
    return plan_.where;
}

void connection::move_to(const endpoint& where) {
    lock held{mutex_};
    if (where == plan_.where || is_ == state::closed) return;
    plan_.where = where;
    failures_ = 0;
    if (line_) {
        doom({errc::unreachable, "is no longer asked; " + where.shown() + " is"});
    } else if (is_ != state::idle) {
        begin();
    }
}

void connection::fail(const trouble& why) {
    lock held{mutex_};
    if (is_ == state::resolving) broke(held, why);
}

void connection::start() {
    lock held{mutex_};
    if (is_ == state::idle) begin();
}

bool connection::up() const {
    lock held{mutex_};
    return is_ == state::up;
}

bool connection::down() const {
    lock held{mutex_};
    return is_ == state::down;
}

std::string connection::flaw() const {
    lock held{mutex_};
    return flaw_.empty() ? "" : plan_.where.shown() + ": " + flaw_;
}

trouble connection::last_trouble() const {
    lock held{mutex_};
    return is_ == state::up ? trouble{} : last_;
}

// ---- sending

void connection::send(std::string_view bytes, std::span<handler> done) {
    trouble why;
    {
        lock held{mutex_};
        if (is_ == state::closed) return;
        const spi::time_point now = clock_.now();
        if (is_ == state::idle || (is_ == state::down && now >= next_try_)) begin();
        if (is_ != state::down && out_.size() + bytes.size() <= most_unsent) {
            out_ += bytes;
            for (handler& one : done) pending_.push_back({std::move(one), now});
            if (!ticking_) tick_later();
            if (is_ == state::up && !sending_) flush(held);
            if (is_ == state::up && reading_ == nullptr && !armed_) {
                if (waits_soon && plan_.waited_on) {
                    arm_later();
                } else {
                    arm(blocked_);
                }
            }
            return;
        }
        why = is_ == state::down ? last_
                                 : trouble{errc::exhausted, plan_.where.shown() + " takes no more: 64 MiB are unsent"};
    }
    for (handler& one : done)
        one({.is = reply::kind::failed, .number = why.hopeless ? static_cast<int>(why.code) : 0, .text = why.what});
}

// Sends for all until nothing is left. Never blocks: what the socket does not take is left to the io thread.
void connection::flush(lock& held) {
    sending_ = true;
    std::string bytes;
    while (!out_.empty() && is_ == state::up) {
        bytes.swap(out_);
        const std::shared_ptr<transport> line = line_;
        std::string_view rest = bytes;
        transport::result said{};
        held.unlock();
        while (!rest.empty()) {
            said = line->write(rest);
            if (said.is != transport::outcome::done) break;
            rest.remove_prefix(said.bytes);
        }
        held.lock();
        if (line != line_) return;  // it broke meanwhile: all that was sent has failed, and others send by now
        if (said.is == transport::outcome::failed || said.is == transport::outcome::closed) {
            doom({errc::unreachable, said.why});
            break;
        }
        if (!rest.empty()) {
            out_.insert(0, rest);
            blocked_ = true;
            arm(true);
            return;  // sending_ stays: ready() goes on
        }
        bytes.clear();
    }
    sending_ = false;
}

// ---- who reads

bool connection::wait(spi::sleeper& who, bool only_while_expecting) {
    waits_soon = false;  // what the answers to others make it send is not what it waits for
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
        const std::shared_ptr<transport> line = line_;
        const auto expecting = [&] { return !only_while_expecting || !pending_.empty(); };
        bool goes_on = line && is_ == state::up && expecting();
        held.unlock();
        reading_for = &who;
        while (goes_on && who.is.load() != spi::sleeper::answered) {
            pollfd sources[] = {{line->descriptor(), POLLIN, 0}, {bell_, POLLIN, 0}};
            ::poll(sources, 2, -1);
            if (sources[1].revents != 0) {
                std::uint64_t rung = 0;
                static_cast<void>(!::read(bell_, &rung, sizeof rung));
            }
            if (sources[0].revents != 0) take_in(line);
            lock again{mutex_};
            goes_on = line == line_ && is_ == state::up && expecting();
        }
        reading_for = nullptr;
        held.lock();
        reading_ = nullptr;
        pass_on();
        if (who.is.load() == spi::sleeper::answered) return true;
        if (only_while_expecting && is_ == state::up && pending_.empty()) return false;
    }
}

void connection::will_wait(bool whether) noexcept {
    waits_soon = whether;
}

void connection::nudge(const spi::sleeper& who) noexcept {
    if (reading_for == &who) return;
    lock held{mutex_};
    if (reading_ != &who) return;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(bell_, &one, sizeof one));
}

void connection::pass_on() {
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
    if (!pending_.empty() || pushes_ || blocked_) {
        arm(blocked_);
    } else {
        arm_later();
    }
}

void connection::arm(bool to_write) {
    if (polled_ == 0) return;
    armed_ = true;
    sockets_.arm(polled_, reading_ == nullptr || reading_ == this, to_write);
}

void connection::disarm() {
    if (!armed_ || blocked_) return;
    armed_ = false;
    sockets_.arm(polled_, false, false);
}

void connection::arm_later() {
    if (armed_ || std::exchange(arming_, true)) return;
    clock_.at(clock_.now() + idle_before_armed, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        lock held{self->mutex_};
        self->arming_ = false;
        if (self->is_ == state::up && self->reading_ == nullptr) self->arm(self->blocked_);
    });
}

void connection::expect_pushes(bool whether) {
    lock held{mutex_};
    pushes_ = whether;
    if (whether && !waits_soon && is_ == state::up && reading_ == nullptr && !armed_) arm(blocked_);
}

// The io thread, told by the poller.
void connection::ready() {
    std::shared_ptr<transport> line;
    state was{};
    {
        lock held{mutex_};
        armed_ = false;
        line = line_;
        was = is_;
        if (!line || was == state::closed) return;
        if (was == state::up && std::exchange(blocked_, false)) flush(held);
        if (reading_ != nullptr && reading_ != this) return;  // a caller does
        reading_ = this;
        ++inside_;
    }
    if (was == state::establishing) {
        establish(line);
    } else {
        take_in(line);
    }
    lock held{mutex_};
    --inside_;
    if (is_ == state::establishing || is_ == state::greeting) return;  // keeps the role, and has armed
    reading_ = nullptr;
    pass_on();
}

// ---- what is read

void connection::take_in(const std::shared_ptr<transport>& line) {
    while (true) {
        const std::span<char> space = input_.space();
        const transport::result got = line->read(space);
        if (got.is == transport::outcome::wants_read || got.is == transport::outcome::wants_write) break;
        if (got.is != transport::outcome::done) {
            lock held{mutex_};
            if (line == line_) broke(held, end_of_stream(got));
            return;
        }
        input_.filled(got.bytes);
        hand_out(line);
        if (got.bytes < space.size() && !line->holds_more()) break;
    }
    lock held{mutex_};
    if (line == line_ && is_ == state::greeting) arm();
}

// Why it ended, as far as that can be told.
trouble connection::end_of_stream(const transport::result& how) const {
    if (how.hopeless) return {errc::denied, how.why, true};
    const std::string what = how.why.empty() ? "the server closed the connection" : how.why;
    if (is_ != state::greeting || how_.tls.on) return {errc::unreachable, what};
    return {errc::unreachable, what + " before it said anything; if it speaks TLS, write rediss:// or tls=1"};
}

void connection::hand_out(const std::shared_ptr<transport>& line) {
    reply said;
    while (true) {
        const reader::outcome how = input_.next(said);
        if (how == reader::outcome::more) break;
        if (how == reader::outcome::broken) {
            lock held{mutex_};
            if (line != line_) return;
            if (is_ != state::greeting)
                return broke(held, {errc::unreachable, "what it says is Redis' protocol no longer"});
            broke(held,
                  {errc::unreachable,
                   "what it says is not Redis' protocol; is the port right? If it speaks TLS, write rediss:// or tls=1",
                   true});
            return;
        }
        const bool message = said.is == reply::kind::push && said.items.size() == 3 && said.items[0].text == "message";
        if (message) {
            if (tell_.pushed) tell_.pushed(said.items[1].text, said.items[2].text);
            continue;
        }
        handler done;
        {
            lock held{mutex_};
            if (line != line_) return;
            heard_ = clock_.now();
            if (is_ == state::greeting) {
                held.unlock();
                if (!greeted(said)) return;
                continue;
            }
            if (said.is == reply::kind::push) continue;
            if (pending_.empty()) {
                broke(held, {errc::unreachable, "the server answered what it was not asked"});
                return;
            }
            done = std::move(pending_.front().done);
            pending_.pop_front();
        }
        done(said);
    }
}

// ---- connecting

void connection::begin() {
    is_ = state::resolving;
    begun_ = clock_.now();
    addresses_.clear();
    next_address_ = 0;
    if (!ticking_) tick_later();
    if (plan_.where.port == 0) return;  // until move_to() says where
    // Not here: a reply may come at once, and the mutex is held.
    clock_.at(begun_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        resolve(self->where(), [weak](std::vector<resolved_address> all, const std::string& why) {
            const auto target = weak.lock();
            if (!target) return;
            lock held{target->mutex_};
            if (target->is_ != state::resolving) return;
            if (all.empty())
                return target->broke(held, {errc::unreachable,
                                            "cannot find host " + base::quoted(target->plan_.where.host) + ": " + why});
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

void connection::try_next_address() {
    const resolved_address& next = addresses_.at(next_address_++);
    auto made = net::connect_to(next.where, next.length);
    if (how_.tls.on) made = net::with_tls(std::move(made), how_.tls, plan_.where.host);
    line_ = std::move(made);
    is_ = state::establishing;
    input_ = {};
    reading_ = this;
    polled_ = sockets_.add(line_->descriptor(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
    });
    arm(true);
}

void connection::establish(const std::shared_ptr<transport>& line) {
    const transport::result how = line->establish();
    lock held{mutex_};
    if (line != line_) return;
    if (doom_) return broke(held, {});
    switch (how.is) {
        case transport::outcome::done:
            is_ = state::greeting;
            held.unlock();
            return greet(line);
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
    broke(held, {how.hopeless ? errc::denied : errc::unreachable, how.why, how.hopeless});
}

void connection::greet(const std::shared_ptr<transport>& line) {
    greeting_ = greeting{how_, plan_};
    const std::string& bytes = greeting_.bytes();
    const transport::result said = line->write(bytes);  // a fresh socket takes more than this
    lock held{mutex_};
    if (line != line_) return;
    if (said.is != transport::outcome::done || said.bytes != bytes.size())
        return broke(held, {errc::unreachable, said.why.empty() ? "takes no greeting" : said.why});
    arm();
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
    is_ = state::up;
    failures_ = 0;
    last_ = {};
    flaw_ = greeting_.flaw();
    if (!out_.empty() && !sending_) flush(held);
    held.unlock();
    if (tell_.up) tell_.up();
    return true;
}

// ---- when it breaks

// From a thread that may not be the one that reads: that one will find the end of the stream.
void connection::doom(trouble why) {
    if (!line_) return;
    doom_ = std::move(why);
    line_->shut_down();
    if (reading_ == nullptr) arm();
}

void connection::start_over(const trouble& why) {
    lock held{mutex_};
    if (is_ == state::up) doom(why);
}

// On the thread that reads, or before there is anything to read. Returns with the mutex held again.
void connection::broke(lock& held, trouble why) {
    if (is_ == state::closed) return;
    if (doom_) why = *std::exchange(doom_, std::nullopt);
    if (plan_.where.port != 0) why.what = plan_.where.shown() + ": " + why.what;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    const bool was_up = is_ == state::up;
    const std::shared_ptr<transport> dropped = std::exchange(line_, nullptr);
    is_ = state::down;
    armed_ = false;
    sending_ = false;
    blocked_ = false;
    out_.clear();
    input_ = {};
    if (reading_ == this) reading_ = nullptr;
    std::deque<pending> lost;
    lost.swap(pending_);
    last_ = why;
    const milliseconds pause = std::min(first_pause * (1 << std::min(failures_++, 6u)), longest_pause);
    next_try_ = clock_.now() + (why.hopeless ? longest_pause : pause);
    if (!why.hopeless)
        clock_.at(next_try_, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self) return;
            lock again{self->mutex_};
            if (self->is_ == state::down) self->begin();
        });
    quiet_.notify_all();
    ++inside_;
    held.unlock();
    const reply failed{
        .is = reply::kind::failed, .number = why.hopeless ? static_cast<int>(why.code) : 0, .text = why.what};
    for (pending& one : lost) one.done(failed);
    if (tell_.down && (was_up || why.hopeless)) tell_.down(why);
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

// Whether the other side still answers.
void connection::tick() {
    lock held{mutex_};
    ticking_ = false;
    if (is_ == state::closed) return;
    const spi::time_point now = clock_.now();
    std::string silent = plan_.where.port == 0 ? plan_.unknown : "has not answered for " + base::readable(how_.timeout);
    if (is_ == state::establishing && how_.tls.on) silent += "; if it does not speak TLS, write redis://";
    if (is_ == state::up && !pending_.empty() && now - std::max(pending_.front().sent, heard_) >= how_.timeout) {
        doom({errc::unreachable, silent});
    } else if ((is_ == state::resolving || is_ == state::establishing || is_ == state::greeting) &&
               (doom_ || now - begun_ >= how_.timeout)) {
        if (is_ == state::resolving || reading_ == this) {  // the io thread's, and this is it
            broke(held, {errc::unreachable, silent});
            pass_on();
        }
    }
    if (!ticking_ &&
        (!pending_.empty() || is_ == state::resolving || is_ == state::establishing || is_ == state::greeting))
        tick_later();
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
    std::deque<pending> dropped;
    dropped.swap(pending_);
    line_.reset();
    held.unlock();
}

}  // namespace mortise::inline v0::stores::redis
