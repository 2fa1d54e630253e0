// What is sent and read. Making, keeping and losing a connection is in connecting.cpp.
#include "stores/etcd/connection.hpp"

#include "base/descriptors.hpp"

#include <mortise/error.hpp>

#include <cstring>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

// For so long the io thread leaves a socket alone that callers read now and then.
constexpr milliseconds idle_before_armed{10};

// More than this on its way to a member that does not take it is refused.
constexpr std::size_t most_unsent = std::size_t{64} << 20;

// This thread reads for itself in a moment.
thread_local bool reads_soon = false;

// The sleeper that this thread reads for.
thread_local const spi::sleeper* reads_for = nullptr;

}  // namespace

connection::connection(settings how, net::endpoint where, spi::clock& clock, net::poller& sockets)
    : how_(std::move(how)),
      where_(std::move(where)),
      clock_(clock),
      sockets_(sockets),
      room_(std::make_unique<std::array<char, 65536>>()) {
    const base::standard_descriptors_taken out_of_the_way;
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ < 0) throw error(errc::exhausted, std::string("cannot make an eventfd: ") + std::strerror(errno));
}

connection::~connection() {
    ::close(bell_);
}

// ---- sending

connection::ticket connection::begin(exchange what) {
    lock held{mutex_};
    if (is_ == state::closed) return 0;
    const spi::time_point now = clock_.now();
    if (is_ == state::idle || (is_ == state::down && now >= next_try_)) connect();
    if (is_ == state::down || out_.size() > most_unsent) {
        ending why = last_;
        if (is_ != state::down)
            why = {.code = ending::resource_exhausted, .text = "it takes no more: 64 MiB are unsent"};
        why.untouched = true;
        held.unlock();
        what.ended(why, {});
        return 0;
    }
    const ticket made = ++last_ticket_;
    auto& one = *(pending_[made] = std::make_shared<pending>());
    one.what = std::move(what);
    one.begun = now;
    if (one.what.timeout) ++calls_;
    if (!ticking_ && one.what.timeout) tick_later();
    if (!looking_after_ && !one.what.timeout) look_after_later();
    if (is_ != state::up) return made;
    put_forward(made, one);
    if (!sending_) flush(held);
    if (is_ == state::up && reading_ == nullptr && !armed_) {
        if (reads_soon) {
            arm_later();
        } else {
            arm(blocked_);
        }
    }
    return made;
}

void connection::put_forward(ticket which, pending& one) {
    one.stream = session_->begin(one.what.method, one.what.token, one.what.timeout);
    if (one.stream == 0) return doom({.text = "the connection has had as many requests as it can"});
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
    if (is_ == state::up && !sending_) flush(held);
    if (is_ == state::up && reading_ == nullptr && !armed_) arm_later();
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
    if (is_ == state::up && !sending_) flush(held);
}

// Sends for all until nothing is left. Never blocks: what the socket does not take is left to the io thread.
void connection::flush(lock& held) {
    sending_ = true;
    std::string bytes;
    while (is_ == state::up) {
        session_->take_out(out_);
        if (out_.empty()) break;
        bytes.clear();
        bytes.swap(out_);
        const std::shared_ptr<net::transport> line = line_;
        std::string_view rest = bytes;
        net::transport::result said{};
        held.unlock();
        while (!rest.empty()) {
            said = line->write(rest);
            if (said.is != net::transport::outcome::done) break;
            rest.remove_prefix(said.bytes);
        }
        held.lock();
        if (line != line_) return;  // it broke meanwhile: all that was sent has failed, and others send by now
        if (said.is == net::transport::outcome::failed || said.is == net::transport::outcome::closed) {
            doom({.text = said.why.empty() ? "the member closed the connection" : said.why});
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
}

// ---- who reads

void connection::wait(spi::sleeper& who) {
    reads_soon = false;  // what the answers to others make it send is not what it waits for
    lock held{mutex_};
    while (true) {
        if (who.is.load() == spi::sleeper::answered && reading_ != &who) return;
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
        const std::shared_ptr<net::transport> line = line_;
        bool goes_on = line && is_ == state::up;
        held.unlock();
        reads_for = &who;
        while (goes_on && who.is.load() != spi::sleeper::answered) {
            pollfd sources[] = {{line->descriptor(), POLLIN, 0}, {bell_, POLLIN, 0}};
            ::poll(sources, 2, -1);
            if (sources[1].revents != 0) {
                std::uint64_t rung = 0;
                static_cast<void>(!::read(bell_, &rung, sizeof rung));
            }
            if (sources[0].revents != 0) take_in(line);
            lock again{mutex_};
            goes_on = line == line_ && is_ == state::up;
        }
        reads_for = nullptr;
        held.lock();
        reading_ = nullptr;
        pass_on();
        if (who.is.load() == spi::sleeper::answered) return;
    }
}

void connection::serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const std::shared_ptr<net::transport> line = [&] {
        lock held{mutex_};
        if (is_ != state::up || reading_ != nullptr) return std::shared_ptr<net::transport>{};
        reading_ = &until;
        disarm();
        return line_;
    }();
    if (!line) return;
    bool goes_on = true;
    while (goes_on && !enough()) {
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        pollfd source{line->descriptor(), POLLIN, 0};
        if (::poll(&source, 1, static_cast<int>(left.count())) > 0) take_in(line);
        lock again{mutex_};
        goes_on = line == line_ && is_ == state::up;
    }
    lock held{mutex_};
    reading_ = nullptr;
    pass_on();
}

void connection::will_wait(bool whether) noexcept {
    reads_soon = whether;
}

void connection::nudge(const spi::sleeper& who) noexcept {
    if (reads_for == &who) return;
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
    if (calls_ > 0 || expecting_ || blocked_) {
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

void connection::expect(bool whether) {
    lock held{mutex_};
    expecting_ = whether;
    if (whether && !reads_soon && is_ == state::up && reading_ == nullptr && !armed_) arm(blocked_);
}

// The io thread, told by the poller.
void connection::ready() {
    std::shared_ptr<net::transport> line;
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
    if (is_ == state::establishing) return;  // keeps the role, and has armed
    reading_ = nullptr;
    pass_on();
}

// ---- what is read

void connection::take_in(const std::shared_ptr<net::transport>& line) {
    while (true) {
        const net::transport::result got = line->read(*room_);
        if (got.is == net::transport::outcome::wants_read || got.is == net::transport::outcome::wants_write) return;
        if (got.is != net::transport::outcome::done) {
            lock held{mutex_};
            if (line == line_) broke(held, end_of_stream(got));
            return;
        }
        if (!hand_out(line, {room_->data(), got.bytes})) return;
        if (got.bytes < room_->size() && !line->holds_more()) return;
    }
}

// False: the connection is no more.
bool connection::hand_out(const std::shared_ptr<net::transport>& line, std::string_view bytes) {
    bool well = false;
    {
        lock held{mutex_};
        if (line != line_ || is_ != state::up) return false;
        heard_ = clock_.now();
        pinged_.reset();
        failures_ = 0;
        ever_heard_ = true;
        events_.clear();
        well = session_->take_in(bytes, events_);
        if (!sending_) flush(held);
    }
    for (grpc_session::event& each : events_) {
        shared_pending to;
        {
            lock held{mutex_};
            if (line != line_ || is_ != state::up) return false;
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
            to->what.ended(each.end, to->answer.value_or(""));
        } else {
            to->what.heard(each.message);
        }
    }
    lock held{mutex_};
    if (line != line_ || is_ != state::up) return false;
    if (!well) {
        broke(held,
              {.text = "what it says is not HTTP/2" + (session_->why().empty() ? "" : " (" + session_->why() + ")")});
        return false;
    }
    if (session_->going()) {
        broke(held, {.text = "the member ends the connection"});
        return false;
    }
    return true;
}

}  // namespace mortise::inline v0::stores::etcd
