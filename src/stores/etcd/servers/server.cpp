#include "stores/etcd/servers/server.hpp"

#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <sys/wait.h>

namespace mortise::inline v0::stores::etcd::servers {
namespace {

constexpr std::chrono::seconds plenty_of_time{30};

}  // namespace

server::server(const testing::server_group& home, setup how)
    : home_(home), settings_(std::move(how)), process_(home_, arguments(), home_ / (settings_.name + ".log")) {}

// An election of less than 667 ms makes a lease of one second possible, which is the shortest there is.
std::vector<std::string> server::arguments() const {
    const std::string scheme = settings_.tls ? "https://" : "http://";
    const std::string mine = scheme + address();
    const std::string peer = "http://127.0.0.1:" + std::to_string(settings_.peer_port);
    std::vector<std::string> all{"etcd",
                                 "--name",
                                 settings_.name,
                                 "--data-dir",
                                 directory(),
                                 "--listen-client-urls",
                                 mine,
                                 "--advertise-client-urls",
                                 mine,
                                 "--listen-peer-urls",
                                 peer,
                                 "--initial-advertise-peer-urls",
                                 peer,
                                 "--initial-cluster",
                                 settings_.cluster.empty() ? settings_.name + "=" + peer : settings_.cluster,
                                 "--initial-cluster-state",
                                 "new",
                                 "--logger",
                                 "zap",
                                 "--log-level",
                                 "warn",
                                 "--heartbeat-interval",
                                 "50",
                                 "--election-timeout",
                                 "650",
                                 "--unsafe-no-fsync"};
    all.insert(all.end(), settings_.more.begin(), settings_.more.end());
    return all;
}

std::string server::command(const std::string& words) const {
    const std::string line =
        "ETCDCTL_API=3 timeout 15 etcdctl --endpoints=" + std::string(settings_.tls ? "https://" : "http://") +
        address() + " " + settings_.options + " " + words + " 2>&1";
    FILE* const pipe = ::popen(line.c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error("cannot run etcdctl");
    std::string said;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) said.append(room.data(), got);
    const int status = ::pclose(pipe);
    if (status != 0) throw std::runtime_error("etcdctl " + words + ": " + said);
    if (said.ends_with('\n')) said.pop_back();
    return said;
}

bool server::ready() {
    try {
        if (!running()) return false;
        command("--command-timeout=1s get mortise-is-it-there");
        return true;
    } catch (const std::runtime_error&) {
        return false;  // it starts, or knows no leader yet
    }
}

void server::await_ready() {
    const bool came = testing::eventually([&] { return !running() || ready(); }, plenty_of_time);
    if (came && running()) return;
    const std::string said = process_.last_words();
    if (said.find("address already in use") != std::string::npos) throw testing::port_taken(said);
    throw std::runtime_error(settings_.name + (came ? " has ended: " : " does not get ready: ") + said);
}

void server::restart() {
    std::filesystem::remove(home_ / (settings_.name + ".log"));  // an old complaint is not a new one
    process_.start();
    await_ready();
}

}  // namespace mortise::inline v0::stores::etcd::servers
