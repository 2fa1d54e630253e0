#include "stores/sql/connection.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::sql {
namespace {

using std::chrono::milliseconds;
using kind = outcome::kind;

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};

// How long the io thread leaves a socket to callers that read it now and then.
constexpr milliseconds idle_before_armed{10};

// The server was reached, whether it says something or not.
bool is_connected(int socket) {
    sockaddr_storage whom{};
    socklen_t size = sizeof whom;
    return ::getpeername(socket, reinterpret_cast<sockaddr*>(&whom), &size) == 0;
}

// This thread is about to wait for an answer, and reads for itself.
thread_local bool waits_soon = false;

// The sleeper that this thread reads for.
thread_local const spi::sleeper* reads_for = nullptr;

std::string numeric(const net::resolved_address& of) {
    char text[INET6_ADDRSTRLEN] = {};
    const auto* at = reinterpret_cast<const sockaddr*>(&of.where);
    const void* bytes = at->sa_family == AF_INET6
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr)
                            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(at)->sin_addr);
    return ::inet_ntop(at->sa_family, bytes, text, sizeof text) != nullptr ? text : std::string{};
}

}  // namespace

// What is polled. A client library closes its own descriptor as soon as it finds the connection broken, and the number may be that
// of another socket by then. Whoever polls the copy keeps it.
struct connection::socket_copy {
    explicit socket_copy(int of) : number(of), is(::fcntl(of, F_DUPFD_CLOEXEC, 3)), inode(inode_of(of)) {}
    ~socket_copy() {
        if (is >= 0) ::close(is);
    }
    socket_copy(const socket_copy&) = delete;
    socket_copy& operator=(const socket_copy&) = delete;

    bool is_of(int descriptor) const { return descriptor == number && inode == inode_of(descriptor); }

    static ino_t inode_of(int descriptor) {
        struct stat about {};
        return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
    }

    const int number;
    const int is;
    const ino_t inode;
};

connection::connection(setup with, spi::clock& clock, net::poller& sockets)
    : with_(std::move(with)), clock_(clock), sockets_(sockets) {}

connection::~connection() {
    close();
}

bool connection::up() const {
    const lock held{mutex_};
    return is_ == state::up;
}

// ---- statements

void connection::run(const statement& what, values bound, then done, spi::duration patience) {
    lock held{mutex_};
    if (is_ == state::closed) return;
    if (is_ == state::idle || (is_ == state::down && clock_.now() >= next_try_)) connect();
    if (is_ == state::down) {
        result none{.how = last_};
        held.unlock();
        return done(std::move(none));
    }
    request asked{.what = &what, .bound = std::move(bound), .done = std::move(done), .patience = patience};
    if (is_ == state::up && waiting_.empty() && line_->ready()) {
        send(std::move(asked));
    } else {
        waiting_.push_back(std::move(asked));
        if (is_ != state::up) return;
    }
    send_all();
    if (!turn_.free()) return;
    waits_soon ? arm_later() : arm();
}

void connection::send(request&& next) {
    next.due = clock_.now() + with_.timeout + next.patience;
    sent_.push_back(std::move(next));
    line_->send(*sent_.back().what, sent_.back().bound);
}

void connection::send_all() {
    const bool only_greetings = is_ != state::up;
    while (line_ && !waiting_.empty() && line_->ready()) {
        if (only_greetings && !waiting_.front().greets) break;
        request next = std::move(waiting_.front());
        waiting_.pop_front();
        send(std::move(next));
    }
    tick_later();
    const bool wants_io_thread = line_ && (line_->is() == driver::state::lost || line_->wants().write);
    if (wants_io_thread) arm();
}

// What has arrived becomes calls; they are made by deliver().
void connection::take(lock& held) {
    const line from = line_;
    while (from == line_) {
        auto some = from->next_result();
        if (!some || sent_.empty()) {
            if (!take_notification()) break;
            continue;
        }
        request answered = std::move(sent_.front());
        sent_.pop_front();
        if (answered.greets) {
            greeted(held, *some);
            continue;
        }
        failures_ = 0;
        const bool elsewhere = some->how.is == kind::read_only && with_.servers.size() > 1;
        outcome why = elsewhere ? some->how : outcome{};
        calls_.push_back({.done = std::move(answered.done), .answer = std::move(*some)});
        if (elsewhere) return broke(held, std::move(why));
    }
    if (from == line_ && from->is() == driver::state::lost) broke(held, from->trouble());
}

bool connection::take_notification() {
    auto heard = line_->next_notification();
    if (heard && with_.notified)
        calls_.push_back({.call = [this, told = std::move(*heard)]() mutable { with_.notified(std::move(told)); }});
    return heard.has_value();
}

void connection::deliver(lock& held) {
    if (std::exchange(delivering_, true)) return;
    while (called_ < calls_.size() && is_ != state::closed) {
        {
            delivery next = std::move(calls_[called_]);
            if (++called_ == calls_.size()) {
                calls_.clear();
                called_ = 0;
            }
            held.unlock();
            next.done ? next.done(std::move(next.answer)) : next.call();
        }
        held.lock();
    }
    delivering_ = false;
    quiet_.notify_all();
}

// ---- connecting

void connection::connect() {
    is_ = state::connecting;
    begun_ = clock_.now();
    tick_later();
    const net::endpoint to = with_.servers.at(server_ % with_.servers.size());
    // On a timer, because resolve() may answer inside the call, and the mutex is held.
    clock_.at(begun_, [weak = weak_from_this(), to] {
        net::resolve(to, [weak, to](const std::vector<net::resolved_address>& found, const std::string& why) {
            const auto self = weak.lock();
            if (!self) return;
            lock held{self->mutex_};
            if (self->is_ != state::connecting || self->line_) return;
            if (found.empty())
                self->broke(held, {.is = kind::unsent,
                                   .detail = "cannot find host " + base::quoted(to.host) + ": " + why,
                                   .unmet = true});
            else
                self->open(held, found);
            self->deliver(held);
        });
    });
}

// One address an attempt: the next attempt takes the next.
void connection::open(lock& held, const std::vector<net::resolved_address>& found) {
    const net::endpoint& to = with_.servers.at(server_ % with_.servers.size());
    turn_.take(this);
    try {
        line_ = with_.make();
        line_->open({.where = to, .numeric = numeric(found[server_ / with_.servers.size() % found.size()])});
        watch(line_);
    } catch (const std::exception& e) {
        return broke(held, {.is = kind::exhausted, .detail = e.what()});
    }
    if (line_->is() == driver::state::lost) return broke(held, line_->trouble());
    arm();
}

// The client library may have made another socket.
void connection::watch(const line& which) {
    const int now = which->descriptor();
    if (polled_copy_ ? polled_copy_->is_of(now) : now < 0) return;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    polled_copy_.reset();
    armed_ = false;
    if (now < 0) return;
    polled_copy_ = std::make_shared<const socket_copy>(now);
    polled_ = sockets_.add(polled_copy_->is, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
    });
}

void connection::greeted(lock& held, const result& how) {
    if (!how.how.ok()) return broke(held, how.how);
    if (--greetings_ > 0) return;
    is_ = state::up;
    if (with_.up) calls_.push_back({.call = [this] { with_.up(); }});
}

void connection::broke(lock&, outcome why) {
    if (is_ == state::closed) return;
    if (why.is == kind::done || why.is == kind::unsure) why.is = kind::unsent;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    polled_copy_.reset();
    armed_ = false;
    const bool was_up = is_ == state::up;
    const line dropped = std::exchange(line_, nullptr);
    is_ = state::down;
    turn_.drop(this);
    turn_.wake();
    ++server_;
    greetings_ = 0;
    const milliseconds pause = std::min(first_pause * (1 << std::min(failures_++, 6U)), longest_pause);
    next_try_ = clock_.now() + (why.hopeless ? longest_pause : pause);
    last_ = why;

    const bool lost = dropped && dropped->is() == driver::state::lost;
    for (request& one : std::exchange(sent_, {})) {
        auto known = lost ? dropped->next_result() : std::nullopt;
        if (one.greets) continue;
        if (!known) known = result{.how = {.is = kind::unsure, .detail = why.detail}};
        calls_.push_back({.done = std::move(one.done), .answer = std::move(*known)});
    }
    for (request& one : std::exchange(waiting_, {})) {
        if (one.greets) continue;
        calls_.push_back({.done = std::move(one.done), .answer = {.how = why}});
    }
    if (was_up && with_.down) calls_.push_back({.call = [this, why] { with_.down(why); }});
    if (!kept_up_) return;
    clock_.at(next_try_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        const lock again{self->mutex_};
        if (self->is_ == state::down) self->connect();
    });
}

void connection::keep_up() {
    const lock held{mutex_};
    kept_up_ = true;
    if (is_ == state::idle) connect();
    if (is_ == state::up && turn_.free()) arm();
}

void connection::drop() {
    lock held{mutex_};
    if (!line_ || is_ == state::closed) return;
    broke(held, {.is = kind::unsent, .detail = "the connection was closed"});
    clock_.at(clock_.now(), [weak = weak_from_this()] {  // its calls
        const auto self = weak.lock();
        if (!self) return;
        lock again{self->mutex_};
        self->deliver(again);
    });
}

// ---- time

void connection::tick_later() {
    const bool due = is_ == state::connecting || is_ == state::greeting || !sent_.empty();
    if (!due || std::exchange(ticking_, true)) return;
    clock_.at(clock_.now() + with_.timeout / 4, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

void connection::tick() {
    lock held{mutex_};
    ticking_ = false;
    if (is_ == state::closed) return;
    const spi::time_point now = clock_.now();
    const bool connecting = is_ == state::connecting || is_ == state::greeting;
    const std::string where = with_.servers.at(server_ % with_.servers.size()).shown();
    if (connecting && now - begun_ >= with_.timeout && !(line_ && line_->provoke()))
        broke(held, {.is = kind::unsent,
                     .detail = where + (line_ && is_connected(line_->descriptor())
                                            ? " takes connections, but does not answer; is the "
                                              "port right?"
                                            : " does not answer")});
    else if (!sent_.empty() && sent_.front().due <= now)
        broke(held, {.is = kind::unsure, .detail = where + " has not answered in time"});
    deliver(held);
    tick_later();
}

// ---- who reads

bool connection::wait(spi::sleeper& who, bool (*leaves)()) {
    waits_soon = false;  // what the answers to others make it send is not what it waits for
    lock held{mutex_};
    while (true) {
        if ((who.is.load() == spi::sleeper::answered || leaves()) && !turn_.is_of(&who)) return true;
        if (turn_.free() && is_ == state::up) {
            turn_.take(&who);
            disarm();
        }
        if (!turn_.is_of(&who)) {
            turn_.follow(held, who);
            continue;
        }
        const line from = line_;
        const auto polled = polled_copy_;
        const int descriptor = polled ? polled->is : -1;
        reads_for = &who;
        const auto done = [&] { return who.is.load() == spi::sleeper::answered || leaves(); };
        while (from && from == line_ && is_ == state::up && !done()) {
            if (from->wants().write) {  // a result may be there already
                take(held);
                send_all();
                deliver(held);
                if (from != line_ || done()) continue;
            }
            held.unlock();
            const bool readable = turn_.poll(descriptor);
            held.lock();
            if (!readable || from != line_ || is_ != state::up) continue;
            from->advance();
            take(held);
            send_all();
            deliver(held);
        }
        reads_for = nullptr;
        turn_.drop(&who);
        pass_on();
        if (done()) return true;
    }
}

void connection::nudge(const spi::sleeper& who) noexcept {
    if (reads_for == &who) return;
    const lock held{mutex_};
    if (turn_.is_of(&who)) turn_.wake();
}

void connection::will_wait(bool whether) noexcept {
    waits_soon = whether;
}

void connection::serve(milliseconds at_most, const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    lock held{mutex_};
    if (is_ != state::up || !turn_.free()) return;
    turn_.take(&until);
    disarm();
    const line from = line_;
    const auto polled = polled_copy_;
    const pollfd source{polled ? polled->is : -1, POLLIN, 0};
    while (from == line_ && is_ == state::up) {
        held.unlock();
        const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
        pollfd one = source;
        const bool over = enough() || left.count() <= 0;
        const bool readable = !over && ::poll(&one, 1, static_cast<int>(left.count())) > 0;
        held.lock();
        if (over) break;
        if (!readable || from != line_) continue;
        from->advance();
        take(held);
        send_all();
        deliver(held);
    }
    turn_.drop(&until);
    pass_on();
}

void connection::pass_on() {
    quiet_.notify_all();
    if (is_ != state::up || !turn_.free() || turn_.pass_on()) return;
    const bool due = kept_up_ || !sent_.empty() || line_->wants().write;
    due ? arm() : arm_later();  // the end of the stream may come at any time
}

void connection::arm() {
    if (polled_ == 0 || !line_) return;
    const driver::interest now = line_->wants();
    const bool lost = line_->is() == driver::state::lost;  // the io thread is to find that out
    const bool reads = turn_.free() || turn_.is_of(this);
    armed_ = true;
    sockets_.arm(polled_, reads && now.read, now.write || lost);
}

void connection::disarm() {
    if (!std::exchange(armed_, false)) return;
    sockets_.arm(polled_, false, line_ && line_->wants().write);
}

// For callers that said they would wait, and did not.
void connection::arm_later() {
    if (armed_ || std::exchange(arming_, true)) return;
    clock_.at(clock_.now() + idle_before_armed, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        const lock held{self->mutex_};
        self->arming_ = false;
        if (self->is_ == state::up && self->turn_.free()) self->arm();
    });
}

// On the io thread, called by the poller.
void connection::ready() {
    lock held{mutex_};
    armed_ = false;
    if (!line_ || is_ == state::closed) return;
    if (!turn_.free() && !turn_.is_of(this)) {  // a caller reads; but what was not sent is to be
        if (!line_->wants().write && line_->is() != driver::state::lost) return;
        line_->advance();
        take(held);
        if (line_ && line_->wants().write) arm();
        return deliver(held);
    }
    turn_.take(this);
    const line from = line_;
    from->advance();
    if (is_ == state::connecting && from->is() == driver::state::up) {
        is_ = state::greeting;
        std::deque<request> first;
        if (with_.greets)
            for (greeting& one : with_.greets())
                first.push_back({.what = one.what, .bound = std::move(one.bound), .greets = true});
        greetings_ = first.size();
        std::ranges::move(waiting_, std::back_inserter(first));
        waiting_ = std::move(first);
        if (greetings_ == 0) {
            greetings_ = 1;
            greeted(held, {});
        }
    }
    take(held);
    if (from == line_) {
        watch(line_);
        send_all();
    }
    deliver(held);
    if (from != line_ || is_ == state::closed) return quiet_.notify_all();
    if (is_ != state::up) return arm();  // and keeps the turn
    turn_.drop(this);
    pass_on();
}

void connection::close() noexcept {
    std::deque<request> forgotten;
    std::deque<request> unsent;
    std::vector<delivery> unmade;
    lock held{mutex_};
    if (is_ == state::closed) return;
    is_ = state::closed;
    if (polled_ != 0) sockets_.remove(std::exchange(polled_, 0));
    turn_.wake();
    quiet_.wait(held, [&] { return !delivering_ && (turn_.free() || turn_.is_of(this)); });
    polled_copy_.reset();
    line_.reset();
    forgotten.swap(sent_);
    unsent.swap(waiting_);
    unmade.swap(calls_);
    called_ = 0;
    held.unlock();
}

}  // namespace mortise::inline v0::stores::sql
