#include "checker/faults/tcp_proxy.hpp"

#include "support/loopback.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

namespace mortise::testing {

// One thread and poll(2). Verbs are work that it does between two polls, so nothing else has to be guarded.
class tcp_proxy::traffic {
public:
    explicit traffic(std::uint16_t server)
        : server_(server), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), port_(free_port()) {
        listen();
        thread_ = std::thread{[this] { run(); }};
    }
    ~traffic() {
        do_work([this] { stopping_ = true; });
        thread_.join();
    }

    std::uint16_t port() const { return port_; }

    // In the thread, and over when this returns.
    void do_work(std::function<void()> work) {
        std::packaged_task<void()> task{std::move(work)};
        auto done = task.get_future();
        {
            std::scoped_lock guard{mutex_};
            work_.push_back(std::move(task));
        }
        const std::uint64_t one = 1;
        static_cast<void>(!::write(bell_.fd(), &one, sizeof one));
        done.get();
    }

    // For work.
    struct fault {
        bool swallowed = false;
        std::chrono::nanoseconds delay{0};
        std::optional<std::size_t> cut_after{};
        std::size_t seen = 0;
    };
    fault& fault_of(way which) { return faults_[static_cast<std::size_t>(which)]; }
    void lead_to(std::uint16_t server) { server_ = server; }
    void set_frozen(bool on) { frozen_ = on; }
    void listen() {
        if (!listener_) listener_ = listener_at(port_, SOCK_NONBLOCK);
        if (!listener_) throw std::runtime_error("port " + std::to_string(port_) + " is taken");
    }
    void refuse() { listener_.close(); }
    void cut() {
        for (connection& one : connections_) reset(one);
        connections_.clear();
    }
    std::size_t connections() const { return connections_.size(); }
    std::size_t connected() const { return connected_; }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::size_t most_waiting = std::size_t{1} << 20;  // then the sender has to wait

    struct chunk {
        clock::time_point due;
        std::string bytes;  // none: the end
    };
    struct stream {  // one way of a connection
        int from = -1;
        int to = -1;
        std::deque<chunk> waiting{};
        std::size_t bytes = 0;  // that wait
        bool read_out = false;
        bool ended = false;
    };
    struct connection {
        socket_handle client;
        socket_handle server;
        std::array<stream, 2> streams{};  // by way
        bool over = false;
    };

    void run() {
        ::prctl(PR_SET_TIMERSLACK, 1);  // a delay is a fraction of a millisecond
        while (!stopping_) {
            std::vector<pollfd> watched{{bell_.fd(), POLLIN, 0}};
            const auto now = clock::now();  // one for both: what is not due for the one must be to come for the other
            if (!frozen_) watch(watched, now);
            const auto pause = frozen_ ? std::nullopt : patience(now);
            ::ppoll(watched.data(), watched.size(), pause ? &*pause : nullptr, nullptr);
            std::uint64_t rung = 0;
            static_cast<void>(!::read(bell_.fd(), &rung, sizeof rung));
            if (!frozen_) move_on();
            take_work();
        }
    }

    void watch(std::vector<pollfd>& watched, clock::time_point now) const {
        if (listener_) watched.push_back({listener_.fd(), POLLIN, 0});
        for (const connection& one : connections_)
            for (const stream& s : one.streams) {
                if (!s.read_out && s.bytes < most_waiting) watched.push_back({s.from, POLLIN, 0});
                if (!s.waiting.empty() && s.waiting.front().due <= now) watched.push_back({s.to, POLLOUT, 0});
            }
    }

    // Until the next delayed chunk is due; none: there is none.
    std::optional<timespec> patience(clock::time_point now) const {
        auto next = clock::time_point::max();
        for (const connection& one : connections_)
            for (const stream& s : one.streams)
                if (!s.waiting.empty() && s.waiting.front().due > now) next = std::min(next, s.waiting.front().due);
        if (next == clock::time_point::max()) return std::nullopt;
        const auto whole = std::chrono::floor<std::chrono::seconds>(next - now);
        return timespec{whole.count(), std::chrono::nanoseconds{next - now - whole}.count()};
    }

    void take_work() {
        std::vector<std::packaged_task<void()>> work;
        {
            std::scoped_lock guard{mutex_};
            work.swap(work_);
        }
        for (auto& task : work) task();
    }

    void move_on() {
        while (listener_ && take_connection()) {
        }
        for (connection& one : connections_) {
            for (const way which : {way::to_server, way::to_client})
                while (!one.over && read(one, which)) {
                }
            for (stream& s : one.streams)
                if (!one.over) write(one, s);
            if (one.streams[0].ended && one.streams[1].ended) one.over = true;
        }
        connections_.remove_if([](const connection& one) { return one.over; });
    }

    bool take_connection() {
        socket_handle client{::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!client) return false;
        socket_handle server = tcp_socket(SOCK_NONBLOCK);
        const int at_once = 1;
        for (const int end : {client.fd(), server.fd()})
            ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
        const sockaddr_in at = loopback(server_);
        const bool begun = ::connect(server.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
                           errno == EINPROGRESS;  // if it fails later, reading it does too
        connection& made = connections_.emplace_back();
        made.streams[0] = {client.fd(), server.fd()};
        made.streams[1] = {server.fd(), client.fd()};
        made.client = std::move(client);
        made.server = std::move(server);
        ++connected_;
        if (!begun) reset(made);
        return true;
    }

    // False when there is nothing to read now.
    bool read(connection& of, way which) {
        stream& s = of.streams[static_cast<std::size_t>(which)];
        if (s.read_out || s.bytes >= most_waiting) return false;
        std::array<char, 16384> room;
        const ssize_t got = ::recv(s.from, room.data(), room.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (got < 0) {
            reset(of);
            return false;
        }
        fault& f = fault_of(which);
        const auto due = clock::now() + f.delay;
        if (got == 0) {
            s.read_out = true;
            s.waiting.push_back({due, {}});
            return false;
        }
        std::string bytes(room.data(), static_cast<std::size_t>(got));
        f.seen += bytes.size();
        const bool cut = f.cut_after && *f.cut_after <= bytes.size();
        if (cut) bytes.resize(*f.cut_after);
        if (f.cut_after) *f.cut_after -= std::min(*f.cut_after, bytes.size());
        if (!f.swallowed && !bytes.empty()) {
            s.bytes += bytes.size();
            s.waiting.push_back({due, std::move(bytes)});
        }
        if (!cut) return true;
        f.cut_after.reset();
        for (chunk& last : s.waiting) last.due = {};
        write(of, s);
        of.over = true;
        return false;
    }

    static void write(connection& of, stream& s) {
        while (!s.waiting.empty() && s.waiting.front().due <= clock::now()) {
            std::string& bytes = s.waiting.front().bytes;
            if (bytes.empty()) {
                ::shutdown(s.to, SHUT_WR);
                s.ended = true;
            } else {
                const ssize_t sent = ::send(s.to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
                if (sent < 0) return reset(of);
                s.bytes -= static_cast<std::size_t>(sent);
                bytes.erase(0, static_cast<std::size_t>(sent));
                if (!bytes.empty()) return;
            }
            s.waiting.pop_front();
        }
    }

    static void reset(connection& of) {
        const linger hard{.l_onoff = 1, .l_linger = 0};
        for (const socket_handle* end : {&of.client, &of.server})
            ::setsockopt(end->fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        of.over = true;
    }

    std::uint16_t server_;
    socket_handle bell_;
    const std::uint16_t port_;
    socket_handle listener_;
    std::list<connection> connections_;
    std::array<fault, 2> faults_{};
    std::size_t connected_ = 0;
    bool frozen_ = false;
    bool stopping_ = false;

    std::mutex mutex_;
    std::vector<std::packaged_task<void()>> work_;
    std::thread thread_;
};

tcp_proxy::tcp_proxy(std::uint16_t server) : traffic_(std::make_unique<traffic>(server)) {}
tcp_proxy::~tcp_proxy() = default;

std::uint16_t tcp_proxy::port() const {
    return traffic_->port();
}
void tcp_proxy::lead_to(std::uint16_t server) {
    traffic_->do_work([&] { traffic_->lead_to(server); });
}
void tcp_proxy::cut() {
    traffic_->do_work([&] { traffic_->cut(); });
}
void tcp_proxy::cut_after(way which, std::size_t bytes) {
    traffic_->do_work([&] { traffic_->fault_of(which).cut_after = bytes; });
}
void tcp_proxy::swallow(way which, bool on) {
    traffic_->do_work([&] { traffic_->fault_of(which).swallowed = on; });
}
void tcp_proxy::delay(way which, std::chrono::nanoseconds by) {
    traffic_->do_work([&] { traffic_->fault_of(which).delay = by; });
}
void tcp_proxy::freeze() {
    traffic_->do_work([&] { traffic_->set_frozen(true); });
}
void tcp_proxy::thaw() {
    traffic_->do_work([&] { traffic_->set_frozen(false); });
}
void tcp_proxy::refuse() {
    traffic_->do_work([&] { traffic_->refuse(); });
}
void tcp_proxy::accept() {
    traffic_->do_work([&] { traffic_->listen(); });
}
std::size_t tcp_proxy::connections() {
    std::size_t n = 0;
    traffic_->do_work([&] { n = traffic_->connections(); });
    return n;
}
std::size_t tcp_proxy::connected() {
    std::size_t n = 0;
    traffic_->do_work([&] { n = traffic_->connected(); });
    return n;
}
std::size_t tcp_proxy::bytes_seen(way which) {
    std::size_t n = 0;
    traffic_->do_work([&] { n = traffic_->fault_of(which).seen; });
    return n;
}

}  // namespace mortise::testing
