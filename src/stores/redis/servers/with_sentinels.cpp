#include "stores/redis/servers/with_sentinels.hpp"

#include "stores/redis/servers/starting.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

namespace mortise::inline v0::stores::redis::servers {
namespace {

std::size_t count(const std::string& text, const std::string& piece) {
    std::size_t found = 0;
    for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
    return found;
}

}  // namespace

// Each sentinel is told of everybody: to find each other takes them seconds.
with_sentinels::with_sentinels(std::chrono::milliseconds silence) {
    with_free_ports([&] {
        nodes_.clear();
        sentinels_.clear();
        for (int i = 0; i < 3; ++i)
            nodes_.push_back(std::make_unique<server>(
                home_, server::setup{.name = "redis-" + std::to_string(i), .port = free_port()}));
        for (const auto& one : nodes_) one->await_ready();
        for (std::size_t i = 1; i < nodes_.size(); ++i) {
            nodes_[i]->command({"replicaof", "127.0.0.1", std::to_string(nodes_[0]->port())});
            nodes_[i]->command({"config", "rewrite"});
        }

        const std::string which = name;
        const auto id_of = [](int i) { return std::string(40, static_cast<char>('a' + i)); };
        std::vector<std::uint16_t> ports;
        for (int i = 0; i < 3; ++i) ports.push_back(free_port());
        for (int i = 0; i < 3; ++i) {
            std::vector<std::string> lines{
                "sentinel myid " + id_of(i),
                "sentinel monitor " + which + " 127.0.0.1 " + std::to_string(nodes_[0]->port()) + " 2",
                "sentinel down-after-milliseconds " + which + " " + std::to_string(silence.count()),
                "sentinel failover-timeout " + which + " 3000", "sentinel parallel-syncs " + which + " 2"};
            for (int j = 1; j < 3; ++j)
                lines.push_back("sentinel known-replica " + which + " 127.0.0.1 " + std::to_string(nodes_[j]->port()));
            for (int j = 0; j < 3; ++j)
                if (j != i)
                    lines.push_back("sentinel known-sentinel " + which + " 127.0.0.1 " + std::to_string(ports[j]) +
                                    " " + id_of(j));
            sentinels_.push_back(std::make_unique<server>(home_, server::setup{.name = "sentinel-" + std::to_string(i),
                                                                               .port = ports[i],
                                                                               .is_sentinel = true,
                                                                               .lines = std::move(lines)}));
        }
        for (const auto& one : sentinels_) {
            one->await_ready();
            // What a failover leaves behind is put in order when they look again; every ten seconds, otherwise. On a busy
            // machine they distrust their clocks now and then, and would do nothing for half a minute.
            one->command({"sentinel", "debug", "info-period", "500", "publish-period", "500", "tilt-period", "2000"});
        }
    });
    await_settled();
}

std::string with_sentinels::addresses() const {
    return addresses_of(sentinels_);
}

server* with_sentinels::master() {
    std::map<std::string, int> votes;
    for (const auto& one : sentinels_)
        if (one->awake()) ++votes[one->command({"sentinel", "get-master-addr-by-name", name})];
    for (const auto& one : nodes_)
        if (one->awake() && votes["127.0.0.1\n" + std::to_string(one->port())] >= 2 &&
            one->field({"info", "replication"}, "role") == "master")
            return one.get();
    return nullptr;
}

server& with_sentinels::await_master_other_than(const server& old) {
    server* found = nullptr;
    await([&] { return (found = master()) != nullptr && found != &old; }, "no other master");
    return *found;
}

bool with_sentinels::settled() {
    server* const first = master();
    if (first == nullptr || count(first->command({"info", "replication"}), "state=online") != 2) return false;
    for (const auto& one : sentinels_) {
        const std::string replicas = one->command({"sentinel", "replicas", name});
        if (one->command({"sentinel", "ckquorum", name}).rfind("OK 3 ", 0) != 0) return false;
        if (count(replicas, "\nflags\nslave\n") != 2 || count(replicas, "\nmaster-link-status\nok\n") != 2)
            return false;
    }
    return true;
}

void with_sentinels::await_settled() {
    await([&] { return settled(); }, "the sentinels do not settle");
}

}  // namespace mortise::inline v0::stores::redis::servers
