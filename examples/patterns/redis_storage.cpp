#include "redis_storage.hpp"

#include <mortise/fenced.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

// A key that has nothing but a seal is forgotten after a day.
constexpr std::string_view seal_script =
    "local s=redis.call('HGET',KEYS[1],'s') if s and s>ARGV[1] then return {'0'} end "
    "redis.call('HSET',KEYS[1],'s',ARGV[1]) if not s then redis.call('EXPIRE',KEYS[1],86400) end return {'1'}";

constexpr std::string_view write_script =
    "if redis.call('HGET',KEYS[1],'s')~=ARGV[1] then return {'0'} end local now=redis.call('TIME') "
    "redis.call('HSET',KEYS[1],'w',ARGV[1],'b',ARGV[2],'t',string.format('%.0f',now[1]*1000000+now[2])) "
    "if ARGV[3]=='0' then redis.call('PERSIST',KEYS[1]) else redis.call('PEXPIRE',KEYS[1],ARGV[3]) end return {'1'}";

}  // namespace

class redis_storage::connection {
public:
    connection(const std::string& host, std::uint16_t port)
        : where_("Redis at " + host + ":" + std::to_string(port)),
          socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        const int one = 1;
        const timeval limit{5, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (::inet_pton(AF_INET, host.c_str(), &at.sin_addr) == 1 &&
            ::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0)
            return;
        ::close(socket_);
        throw std::runtime_error(where_ + " cannot be reached");
    }
    ~connection() { ::close(socket_); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // All in one trip.
    std::vector<words> ask(std::initializer_list<words> commands) {
        std::string out;
        for (const words& command : commands) {
            out += "*" + std::to_string(command.size()) + "\r\n";
            for (const std::string& word : command) out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        }
        send(out);
        std::vector<words> all(commands.size());
        for (words& each : all) each = answer();
        return all;
    }

private:
    void send(const std::string& out) {
        for (std::size_t sent = 0; sent < out.size();) {
            const ssize_t some = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
            if (some < 0 && errno == EINTR) continue;  // the process was stopped and continued
            if (some <= 0) throw std::runtime_error(where_ + ": the connection was lost");
            sent += static_cast<std::size_t>(some);
        }
    }
    words answer() {
        const std::string head = line();
        if (head.front() == '-') throw std::runtime_error(where_ + ": " + head.substr(1));
        words all(static_cast<std::size_t>(std::stoul(head.substr(1))));
        for (std::string& each : all) {
            const int size = std::stoi(line().substr(1));
            if (size >= 0) each = bytes(static_cast<std::size_t>(size));  // -1: it has no such field
        }
        return all;
    }
    void more() {
        std::array<char, 4096> room{};
        ssize_t got = 0;
        do got = ::recv(socket_, room.data(), room.size(), 0);
        while (got < 0 && errno == EINTR);
        if (got <= 0) throw std::runtime_error(where_ + " does not answer");
        in_.append(room.data(), static_cast<std::size_t>(got));
    }
    std::string line() {
        std::size_t end = 0;
        while ((end = in_.find("\r\n")) == in_.npos) more();
        std::string one = in_.substr(0, end);
        in_.erase(0, end + 2);
        return one;
    }
    std::string bytes(std::size_t count) {
        while (in_.size() < count + 2) more();
        std::string one = in_.substr(0, count);
        in_.erase(0, count + 2);
        return one;
    }

    const std::string where_;
    int socket_;
    std::string in_;
};

redis_storage::redis_storage(std::string host, std::uint16_t port, std::string prefix)
    : host_(std::move(host)), port_(port), prefix_(std::move(prefix)) {}

redis_storage::~redis_storage() = default;

std::unique_ptr<redis_storage::connection> redis_storage::borrow() {
    {
        const std::scoped_lock alone{mutex_};
        if (!idle_.empty()) {
            auto one = std::move(idle_.back());
            idle_.pop_back();
            return one;
        }
    }
    return std::make_unique<connection>(host_, port_);
}

// A connection that fails is not used again.
std::vector<redis_storage::words> redis_storage::ask(std::initializer_list<words> commands) {
    auto one = borrow();
    std::vector<words> answers = one->ask(commands);
    const std::scoped_lock alone{mutex_};
    idle_.push_back(std::move(one));
    return answers;
}

bool redis_storage::evaluate(std::string_view script, std::string_view key,
                             std::initializer_list<std::string> arguments) {
    words command{"EVAL", std::string(script), "1", prefix_ + std::string(key)};
    command.insert(command.end(), arguments);
    return ask({command}).at(0).at(0) == "1";
}

// The time is asked for after the entry, so an entry is never taken for younger than it is.
std::optional<mortise::fenced_storage::entry> redis_storage::read(std::string_view key) {
    std::vector<words> got = ask({{"HMGET", prefix_ + std::string(key), "s", "w", "b", "t"}, {"TIME"}});
    words& is = got.at(0);
    if (is.at(3).empty()) return std::nullopt;
    const std::int64_t now = std::stoll(got.at(1).at(0)) * 1'000'000 + std::stoll(got.at(1).at(1));
    const std::chrono::microseconds age{std::max<std::int64_t>(now - std::stoll(is[3]), 0)};
    return entry{std::move(is[2]), age, is[0] == is[1]};
}

bool redis_storage::seal(std::string_view key, mortise::token mine) {
    return evaluate(seal_script, key, {mortise::fenced::padded(mine)});
}

bool redis_storage::write(std::string_view key, mortise::token mine, std::string_view bytes,
                          std::chrono::nanoseconds keep) {
    constexpr std::chrono::hours for_good{24 * 365};
    const auto milliseconds =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(keep, for_good));
    const std::string kept = keep >= for_good ? "0" : std::to_string(std::max<std::int64_t>(1, milliseconds.count()));
    return evaluate(write_script, key, {mortise::fenced::padded(mine), std::string(bytes), kept});
}
