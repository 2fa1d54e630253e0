#include "stores/zookeeper/diagnostics.hpp"

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

// CVE-2023-44981: with SASL quorum authentication, an unauthorized server can join the ensemble.
bool has_quorum_bypass(std::string_view version) {
    const auto is = parts_of(version);
    return is < std::array{3, 7, 2} || (is >= std::array{3, 8, 0} && is < std::array{3, 8, 3}) ||
           is == std::array{3, 9, 0};
}

void judge_members(const diagnosis& seen, std::vector<finding>& found) {
    std::size_t serving = 0;
    bool leader = false;
    for (const auto& [address, facts] : seen.servers) {
        if (facts.turns_away) {
            found.push_back(
                {problem, address + " accepts connections and closes them at once",
                 "this machine probably has as many as the server allows: raise maxClientCnxns (60 by default) in "
                 "its zoo.cfg, or run fewer clients here; each has one connection"});
            continue;
        }
        if (facts.version.empty()) {
            found.push_back(
                {warning, address + " does not answer srvr", "start it, or allow srvr in its 4lw.commands.whitelist"});
            continue;
        }
        if (facts.mode.empty()) {
            found.push_back({warning, address + " serves nobody: it is not connected to a majority of the ensemble",
                             "check for servers that are down, and the network between them"});
            continue;
        }
        if (facts.mode == "read-only") {
            found.push_back({warning, address + " is read-only: it is not connected to a majority of the ensemble",
                             "check for servers that are down, and the network between them"});
            continue;
        }
        ++serving;
        leader = leader || facts.mode == "leader";
        const auto is = parts_of(facts.version);
        if (is < std::array{3, 5, 3})
            found.push_back({problem, address + " is " + facts.version + ", which has no container nodes",
                             "use ZooKeeper 3.5.3 or newer"});
        else if (has_quorum_bypass(facts.version))
            found.push_back(
                {note, address + " is " + facts.version + ", in the range of CVE-2023-44981",
                 "if the ensemble authenticates its members by SASL, update, or make sure that the fix is in"});
        else
            found.push_back({good, address + " is " + facts.version + ", " + facts.mode, {}});
        if (facts.zxid >> 32 > std::uint64_t{1} << 21)
            found.push_back({warning,
                             address + " has had over two million leaders (epoch " + std::to_string(facts.zxid >> 32) +
                                 "): tokens have room for four million",
                             "find out why leaders change so often, and set up the ensemble anew"});
    }
    if (seen.servers.size() == 1)
        found.push_back({note, "the address names one server: while it is down nobody gets a lock",
                         "name all servers of the ensemble in the address"});
    else if (serving > 0 && !leader)
        found.push_back(
            {note, "the leader is not among the servers of the address", "name all servers of the ensemble"});
}

}  // namespace

std::vector<finding> findings_of(const settings& settings, const diagnosis& seen) {
    std::vector<finding> found;
    if (!seen.failed.empty())
        found.push_back(
            {problem, "locks cannot be taken: " + seen.failed,
             "check that a majority of the servers runs, that they reach each other, and that the address is right"});
    else
        found.push_back({seen.trip > std::chrono::seconds{1} ? warning : good,
                         "the leader answers in " + base::readable(seen.trip),
                         seen.trip > std::chrono::seconds{1} ? "check the load and the disks of the servers" : ""});
    if (!seen.denied.empty())
        found.push_back({problem, "locks cannot be taken: " + seen.denied,
                         "give the user who created them, zookeeper://user:password@..., or choose another path"});
    judge_members(seen, found);
    if (seen.session) {
        const auto given = std::chrono::duration_cast<milliseconds>(*seen.session);
        const std::string life = "the locks of a dead client are freed after " + base::readable(given);
        if (given != settings.session)
            found.push_back(
                {warning,
                 life + ", not after " + base::readable(settings.session) + ": the servers limit session timeouts",
                 "change the option session, or minSessionTimeout and maxSessionTimeout on the servers"});
        else
            found.push_back({good, life + " (option session)", {}});
    }
    found.push_back(
        {note, "the connection is not encrypted: the C client has no TLS", "use a trusted network or a tunnel"});
    if (settings.user.empty())
        found.push_back({note, "anybody who reaches the servers can remove locks",
                         "give a user, zookeeper://user:password@...: only that user can then change the nodes"});
    return found;
}

}  // namespace mortise::inline v0::stores::zookeeper
