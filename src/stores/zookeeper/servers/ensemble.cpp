#include "stores/zookeeper/servers/ensemble.hpp"

#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <sys/socket.h>
#include <sys/time.h>

namespace mortise::inline v0::stores::zookeeper::servers {
namespace {

constexpr std::chrono::seconds plenty{40};

std::string directory_of(std::size_t number) {
    return "member" + std::to_string(number + 1);
}

}  // namespace

std::vector<std::string> server::command(const std::string& directory, std::size_t number,
                                         const std::vector<ports>& all, unsigned most_clients) {
    std::filesystem::create_directories(directory + "/data");
    std::ofstream{directory + "/data/myid"} << number + 1 << "\n";
    std::ofstream out{directory + "/zoo.cfg"};
    out << "tickTime=200\ninitLimit=50\nsyncLimit=10\nminSessionTimeout=400\nmaxSessionTimeout=60000\n"
        << "admin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=" << most_clients << "\n"
        << "clientPortAddress=127.0.0.1\nclientPort=" << all[number].client << "\ndataDir=" << directory << "/data\n";
    for (std::size_t i = 0; all.size() > 1 && i < all.size(); ++i)
        out << "server." << i + 1 << "=127.0.0.1:" << all[i].peers << ":" << all[i].election << "\n";
    return {"java",
            "-Xmx128m",
            "-Xms32m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-Dzookeeper.forceSync=no",
            "-Dznode.container.checkIntervalMs=500",
            "-Dreadonlymode.enabled=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",  // so that last words say why
            "-cp",
            "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            directory + "/zoo.cfg"};
}

server::server(const testing::server_group& home, std::size_t number, const std::vector<ports>& all,
               unsigned most_clients)
    : port_(all[number].client),
      process_(home, command(home / directory_of(number), number, all, most_clients),
               home / (directory_of(number) + ".log")) {}

std::string server::say(const std::string& word) const {
    const testing::socket_handle to = testing::tcp_socket();
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(to.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const sockaddr_in at = testing::loopback(port_);
    if (::connect(to.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
    if (::send(to.fd(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return {};
    std::string all;
    char room[4096];
    for (ssize_t got = 0; (got = ::recv(to.fd(), room, sizeof room, 0)) > 0;)
        all.append(room, static_cast<std::size_t>(got));
    return all;
}

std::string server::mode() const {
    const std::string reply = say("srvr");
    const std::size_t begins = reply.find("Mode: ");
    if (begins == std::string::npos) return {};
    return reply.substr(begins + 6, reply.find('\n', begins) - begins - 6);
}

bool server::serves() const {
    const std::string now = mode();
    return !now.empty() && now != "read-only";
}

// Somebody who is no test may take a port between the moment it is found free and the start of the server.
ensemble::ensemble(std::size_t members, unsigned most_clients) {
    testing::with_free_ports([&] { start(members, most_clients); });
}

void ensemble::start(std::size_t members, unsigned most_clients) {
    members_.clear();
    for (std::size_t i = 0; i < members; ++i) std::filesystem::remove_all(home_ / directory_of(i));
    std::vector<server::ports> all;
    for (std::size_t i = 0; i < members; ++i)
        all.push_back({testing::free_port(), testing::free_port(), testing::free_port()});
    for (std::size_t i = 0; i < members; ++i) members_.push_back(std::make_unique<server>(home_, i, all, most_clients));
    await_serving();
}

void ensemble::await_serving() {
    for (const auto& one : members_) {
        if (testing::eventually([&] { return !one->running() || one->serves(); }, plenty) && one->running()) continue;
        const std::string last_words = one->last_words();
        if (last_words.find("Address already in use") != std::string::npos) throw testing::port_taken(last_words);
        throw std::runtime_error(std::string("a ZooKeeper server ") +
                                 (one->running() ? "does not serve: " : "has ended: ") + last_words);
    }
}

std::string ensemble::addresses() const {
    std::string all;
    for (const auto& one : members_) all += (all.empty() ? "" : ",") + one->address();
    return all;
}

server* ensemble::leader() {
    for (const auto& one : members_)
        if (one->running() && one->mode() == "leader") return one.get();
    return nullptr;
}

}  // namespace mortise::inline v0::stores::zookeeper::servers
