#include "stores/zookeeper/checkup.hpp"

#include "base/text.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using enum finding::grade;
using std::chrono::milliseconds;

// Major, minor, patch.
std::array<int, 3> parts_of(std::string_view version) {
    std::array<int, 3> parts{};
    for (int& part : parts) {
        const std::size_t dot = std::min(version.find('.'), version.size());
        std::from_chars(version.data(), version.data() + dot, part);
        version.remove_prefix(std::min(dot + 1, version.size()));
    }
    return parts;
}

// CVE-2023-44981: who has no right to can join the ensemble, if SASL is to keep it out.
bool lets_strangers_join(std::string_view version) {
    const auto is = parts_of(version);
    return is < std::array{3, 7, 2} || (is >= std::array{3, 8, 0} && is < std::array{3, 8, 3}) ||
           is == std::array{3, 9, 0};
}

void judge_members(const examination& seen, std::vector<finding>& found) {
    std::size_t serving = 0;
    bool leader = false;
    for (const auto& [address, told] : seen.servers) {
        if (told.turns_away) {
            found.push_back(
                {problem, address + " accepts connections and closes them at once",
                 "most likely this machine has as many as it allows: raise maxClientCnxns (60 unless set) in "
                 "its zoo.cfg, or run fewer clients here, each has one"});
            continue;
        }
        if (told.version.empty()) {
            found.push_back({warning, address + " does not answer to srvr",
                             "start it, or allow srvr in its 4lw.commands.whitelist"});
            continue;
        }
        if (told.mode.empty()) {
            found.push_back({warning, address + " serves nobody: it sees no majority of the servers",
                             "look for servers that are down, and at the network between them"});
            continue;
        }
        if (told.mode == "read-only") {
            found.push_back({warning, address + " serves readers only: it sees no majority of the servers",
                             "look for servers that are down, and at the network between them"});
            continue;
        }
        ++serving;
        leader = leader || told.mode == "leader";
        const auto is = parts_of(told.version);
        if (is < std::array{3, 5, 3})
            found.push_back({problem, address + " is " + told.version + ", which has no containers",
                             "use ZooKeeper 3.5.3 or newer"});
        else if (lets_strangers_join(told.version))
            found.push_back({note, address + " is " + told.version + ", in the range of CVE-2023-44981",
                             "if its quorum authenticates by SASL, make sure that the fix is in, or update"});
        else
            found.push_back({good, address + " is " + told.version + ", " + told.mode, {}});
        if (told.zxid >> 32 > std::uint64_t{1} << 21)
            found.push_back({warning,
                             address + " has had over two million leaders (epoch " + std::to_string(told.zxid >> 32) +
                                 "): tokens have room for four",
                             "see why leaders change so often, and set the servers up anew"});
    }
    if (seen.servers.size() == 1)
        found.push_back({note, "one server is named: while it is away nobody gets a lock",
                         "name all servers of the ensemble in the address"});
    else if (serving > 0 && !leader)
        found.push_back({note, "the leader is none of the servers of the address", "name all servers of the ensemble"});
}

}  // namespace

std::vector<finding> findings_of(const settings& how, const examination& seen) {
    std::vector<finding> found;
    if (!seen.failed.empty())
        found.push_back({problem, "no lock can be had: " + seen.failed,
                         "are the servers running, do they see a majority of each other, and is the address right?"});
    else
        found.push_back({seen.trip > std::chrono::seconds{1} ? warning : good,
                         "the leader answers in " + base::readable(seen.trip),
                         seen.trip > std::chrono::seconds{1} ? "see the servers' load and disks" : ""});
    if (!seen.denied.empty())
        found.push_back({problem, "no lock can be had: " + seen.denied,
                         "name the user who made them, zookeeper://user:password@..., or choose another path"});
    judge_members(seen, found);
    if (seen.session) {
        const auto given = std::chrono::duration_cast<milliseconds>(*seen.session);
        const std::string life = "a silent client's locks are free after " + base::readable(given);
        if (given != how.session)
            found.push_back({warning,
                             life + ", not after " + base::readable(how.session) + ": the servers' bounds are others",
                             "change the option session, or minSessionTimeout and maxSessionTimeout of the servers"});
        else
            found.push_back({good, life + " (option session)", {}});
    }
    found.push_back({note, "the connection is not encrypted: the C client has no TLS",
                     "keep it inside a network that you trust, or lead it through a tunnel"});
    if (how.user.empty())
        found.push_back({note, "everybody who reaches the servers can remove locks",
                         "write zookeeper://user:password@..., so that nodes are for that user alone"});
    return found;
}

}  // namespace mortise::inline v0::stores::zookeeper
