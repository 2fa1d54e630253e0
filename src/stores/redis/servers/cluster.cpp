#include "stores/redis/servers/cluster.hpp"

#include "stores/redis/servers/starting.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::inline v0::stores::redis::servers {
namespace {

// A line of CLUSTER NODES: id address flags master ping pong epoch link slots...
struct cluster_line {
    std::string id;
    std::string address;  // "127.0.0.1:7000@17000"
    std::string flags;    // "myself,master"
    std::uint64_t epoch = 0;
    std::vector<std::string> slots{};  // "0-5460"

    bool serves(std::uint16_t slot) const {
        return std::any_of(slots.begin(), slots.end(), [&](const std::string& range) {
            if (range.front() == '[') return false;  // on its way from or to another
            const std::size_t dash = range.find('-');
            const int from = std::stoi(range);
            return from <= slot && slot <= (dash == range.npos ? from : std::stoi(range.substr(dash + 1)));
        });
    }
};

std::vector<cluster_line> view_of(server& node) {
    std::vector<cluster_line> all;
    std::istringstream lines{node.command({"cluster", "nodes"})};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        cluster_line one;
        std::string ignored;
        words >> one.id >> one.address >> one.flags >> ignored >> ignored >> ignored >> one.epoch >> ignored;
        for (std::string range; words >> range;) one.slots.push_back(range);
        if (!one.id.empty()) all.push_back(std::move(one));
    }
    return all;
}

bool has(const std::string& text, const char* piece) {
    return text.find(piece) != text.npos;
}

}  // namespace

cluster::cluster(std::chrono::milliseconds silence) {
    std::vector<std::uint16_t> buses;
    with_free_ports([&] {
        nodes_.clear();
        buses.clear();
        for (std::size_t i = 0; i < 2 * masters; ++i) {
            buses.push_back(free_port());
            nodes_.push_back(std::make_unique<server>(
                home_,
                server::setup{.name = "redis-" + std::to_string(i),
                              .port = free_port(),
                              .lines = {"cluster-enabled yes", "cluster-port " + std::to_string(buses.back()),
                                        "cluster-node-timeout " + std::to_string(silence.count()),
                                        "cluster-require-full-coverage no", "cluster-allow-replica-migration no"}}));
        }
        for (const auto& one : nodes_) one->await_ready();
    });

    constexpr std::size_t slots = 16384;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        server& one = *nodes_[i];
        one.command({"cluster", "set-config-epoch", std::to_string(i + 1)});
        if (i < masters)
            one.command({"cluster", "addslotsrange", std::to_string(i * slots / masters),
                         std::to_string((i + 1) * slots / masters - 1)});
        for (std::size_t j = 0; j < i; ++j)
            one.command({"cluster", "meet", "127.0.0.1", std::to_string(nodes_[j]->port()), std::to_string(buses[j])});
    }
    for (std::size_t i = masters; i < nodes_.size(); ++i) {
        const std::string id = nodes_[i - masters]->command({"cluster", "myid"});
        await([&] { return nodes_[i]->command({"cluster", "replicate", id}) == "OK"; }, "no replicas");
    }
    await_settled();
}

std::string cluster::addresses() const {
    return addresses_of(nodes_);
}

server* cluster::master_of(std::uint16_t slot) {
    server* best = nullptr;
    std::uint64_t latest = 0;
    for (const auto& one : nodes_) {
        if (!one->awake()) continue;
        for (const cluster_line& line : view_of(*one))
            if (has(line.flags, "myself") && has(line.flags, "master") && line.serves(slot) && line.epoch >= latest) {
                best = one.get();
                latest = line.epoch;
            }
    }
    return best;
}

std::vector<server*> cluster::keepers() {
    std::vector<server*> found;
    for (const auto& one : nodes_)
        if (one->awake() && one->field({"info", "replication"}, "role") == "master") found.push_back(one.get());
    return found;
}

server& cluster::await_master_other_than(const server& old, std::uint16_t slot) {
    server* found = nullptr;
    await(
        [&] {
            found = master_of(slot);
            return found != nullptr && found != &old && found->field({"cluster", "info"}, "cluster_state") == "ok";
        },
        "no other master");
    return *found;
}

void cluster::begin_move(std::uint16_t slot, server& to) {
    server* const from = master_of(slot);
    if (from == nullptr) throw std::runtime_error("nobody serves the slot");
    const std::string which = std::to_string(slot);
    to.command({"cluster", "setslot", which, "importing", from->command({"cluster", "myid"})});
    from->command({"cluster", "setslot", which, "migrating", to.command({"cluster", "myid"})});
}

void cluster::end_move(std::uint16_t slot, server& to) {
    server* const from = master_of(slot);
    if (from == nullptr) throw std::runtime_error("nobody serves the slot");
    const std::string which = std::to_string(slot);
    while (true) {
        std::istringstream keys{from->command({"cluster", "getkeysinslot", which, "100"})};
        std::vector<std::string> move{"migrate", "127.0.0.1", std::to_string(to.port()), "", "0", "10000", "keys"};
        for (std::string key; std::getline(keys, key);) move.push_back(key);
        if (move.size() == 7) break;
        from->command(move);
    }
    const std::string id = to.command({"cluster", "myid"});
    to.command({"cluster", "setslot", which, "node", id});
    from->command({"cluster", "setslot", which, "node", id});
    await([&] { return master_of(slot) == &to; }, "the slot does not move");
}

bool cluster::settled() {
    std::map<std::string, std::vector<std::string>> agreed;
    for (const auto& one : nodes_) {
        std::map<std::string, std::vector<std::string>> slots;
        std::size_t replicas = 0;
        for (const cluster_line& line : view_of(*one)) {
            if (has(line.flags, "fail") || has(line.flags, "handshake") || has(line.flags, "noaddr")) return false;
            if (has(line.flags, "slave")) ++replicas;
            if (!has(line.flags, "master")) continue;
            slots[line.id] = line.slots;
            slots[line.id].push_back(std::to_string(line.epoch));  // who does not know it may claim a slot in vain
        }
        if (agreed.empty()) agreed = slots;
        const bool is_master = one->field({"info", "replication"}, "role") == "master";
        if (slots != agreed || slots.size() != masters || replicas != nodes_.size() - masters ||
            one->field({"cluster", "info"}, "cluster_state") != "ok" ||
            one->field({"cluster", "info"}, "cluster_slots_ok") != "16384" ||
            (!is_master && one->field({"info", "replication"}, "master_link_status") != "up"))
            return false;
    }
    return true;
}

void cluster::await_settled() {
    await([&] { return settled(); }, "the cluster does not settle");
}

}  // namespace mortise::inline v0::stores::redis::servers
