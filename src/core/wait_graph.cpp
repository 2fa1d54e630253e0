#include "core/wait_graph.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <unordered_map>

namespace mortise::inline v0::core {
namespace {

struct search {
    enum class mark : unsigned char { unseen, on_the_way, done };

    const std::vector<std::vector<std::size_t>>& ways;
    std::vector<mark> marks;
    std::vector<std::size_t> path{};

    // Follows whom everyone waits for; a step back onto the path closes a cycle.
    std::vector<std::size_t> from(std::size_t n) {
        marks[n] = mark::on_the_way;
        path.push_back(n);
        for (const std::size_t next : ways[n]) {
            if (marks[next] == mark::on_the_way) return {std::find(path.begin(), path.end(), next), path.end()};
            if (marks[next] == mark::done) continue;
            if (auto cycle = from(next); !cycle.empty()) return cycle;
        }
        marks[n] = mark::done;
        path.pop_back();
        return {};
    }
    void forget_the_way() {
        for (const std::size_t n : path) marks[n] = mark::done;
        path.clear();
    }
};

bool conflict(const blocked_owner& wants, const owned_lock& has) noexcept {
    return std::uint64_t{wants.weight} + has.weight > wants.capacity;
}

}  // namespace

std::vector<std::vector<std::size_t>> find_cycles(const std::vector<blocked_owner>& blocked,
                                                  const std::vector<owned_lock>& owned) {
    std::unordered_map<owner_key, std::size_t> node;
    for (std::size_t i = 0; i < blocked.size(); ++i) node.emplace(blocked[i].who, i);
    std::unordered_map<std::string, std::vector<const owned_lock*>> holders;  // by name: stores rarely share any
    for (const owned_lock& o : owned)
        if (node.contains(o.who)) holders[o.which.name].push_back(&o);

    std::vector<std::vector<std::size_t>> ways(blocked.size());
    for (std::size_t i = 0; i < blocked.size(); ++i) {
        const auto here = holders.find(blocked[i].on.name);
        if (here == holders.end()) continue;
        for (const owned_lock* o : here->second)
            if (o->who != blocked[i].who && o->which == blocked[i].on && conflict(blocked[i], *o))
                ways[i].push_back(node.at(o->who));
    }

    std::vector<std::vector<std::size_t>> cycles;
    search through{ways, std::vector(blocked.size(), search::mark::unseen)};
    for (std::size_t i = 0; i < blocked.size(); ++i) {
        if (through.marks[i] != search::mark::unseen) continue;
        if (auto cycle = through.from(i); !cycle.empty()) cycles.push_back(std::move(cycle));
        through.forget_the_way();
    }
    return cycles;
}

std::string describe_cycle(const std::vector<blocked_owner>& blocked, const std::vector<std::size_t>& cycle) {
    std::string text = "deadlock: ";
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        const blocked_owner& one = blocked[cycle[i]];
        const blocked_owner& before = blocked[cycle[(i + cycle.size() - 1) % cycle.size()]];
        text += (i == 0 ? "" : "; ") + one.shown_as + " holds " + base::quoted(before.on.name) + " and waits for " +
                base::quoted(one.on.name);
    }
    return text;
}

}  // namespace mortise::inline v0::core
