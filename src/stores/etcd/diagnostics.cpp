#include "stores/etcd/diagnostics.hpp"

#include "base/text.hpp"
#include "base/told_span.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/requests.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using grade = finding::grade;
using release_number = std::array<int, 3>;

std::optional<release_number> version_of(const std::string& text) {
    release_number v{};
    if (std::sscanf(text.c_str(), "%d.%d.%d", &v[0], &v[1], &v[2]) != 3) return std::nullopt;
    return v;
}

// What was wrong with leases, and the releases of each line that mended it.
struct known_bug {
    const char* what;
    std::array<release_number, 3> mended;  // by line, rising
    std::size_t lines;
};
constexpr known_bug bugs_of_leases[] = {
    {"a leader that stood still may end leases that are alive", {{{3, 4, 31}, {3, 5, 13}}}, 2},
    {"a lease that was revoked may be reported as kept alive", {{{3, 4, 38}, {3, 5, 23}, {3, 6, 5}}}, 3},
    {"a member that stood still may answer from the past", {{{3, 4, 42}, {3, 5, 28}, {3, 6, 9}}}, 3},
};

bool has(const known_bug& bug, const release_number& v) {
    for (const release_number& mended : std::span{bug.mended}.first(bug.lines))
        if (v[0] == mended[0] && v[1] == mended[1]) return v < mended;
    return v < bug.mended.front();
}

void look_at(const member_report& one, std::vector<finding>& found) {
    const std::string member = "member " + one.address;
    if (one.refused) {
        found.push_back({grade::problem, member + " refuses: " + one.trouble,
                         "look at the user, its password and the certificates in the store's address"});
        return;
    }
    if (!one.answered && one.has_leader) {
        found.push_back({grade::warning, member + " does not answer: " + one.trouble,
                         "start it, or take it out of the store's address"});
        return;
    }
    if (one.answered)
        found.push_back(
            {grade::good, member + " is etcd " + one.version + " and answers in " + base::readable(one.took)});
    if (one.learner)
        found.push_back({grade::warning, member + " is a learner: it has no vote and takes no locks",
                         "promote it (etcdctl member promote), or take it out of the store's address"});
    if (!one.has_leader)
        found.push_back({grade::problem, member + " knows no leader, so nothing can be locked",
                         "bring back a majority of the members"});
    for (const std::string& each : one.errors)
        if (each.find("no leader") == std::string::npos)
            found.push_back({grade::problem, member + " says: " + each,
                             "see etcdctl alarm list; after NOSPACE compact and defragment, then disarm it"});
    const auto v = version_of(one.version);
    if (!v) return;
    if (*v < release_number{3, 4, 0})
        found.push_back({grade::problem, member + " is older than etcd 3.4", "upgrade it"});
    else
        for (const known_bug& bug : bugs_of_leases)
            if (has(bug, *v))
                found.push_back({grade::warning, member + " has a known bug: " + bug.what,
                                 "upgrade to etcd 3.4.42, 3.5.28, 3.6.9 or newer"});
}

struct examination {
    std::mutex mutex;
    cluster_report seen;
    std::size_t missing = 0;
    spi::reply<std::vector<finding>> done;

    void answered(const settings& how) {
        spi::reply<std::vector<finding>> tell;
        {
            std::scoped_lock guard{mutex};
            if (--missing > 0) return;
            tell = std::move(done);
        }
        tell(findings_of(how, seen));
    }
};

}  // namespace

std::vector<finding> findings_of(const settings& how, const cluster_report& seen) {
    std::vector<finding> found;
    std::size_t there = 0;
    std::size_t learners = 0;
    std::size_t well = 0;
    for (const member_report& one : seen.members) {
        look_at(one, found);
        there += one.answered || one.refused || !one.has_leader ? 1 : 0;
        learners += one.learner ? 1 : 0;
        well += one.answered && !one.learner ? 1 : 0;
    }
    if (learners > 0 && well == 0)
        found.push_back({grade::problem, "no member that is named takes locks", "name those that vote and are well"});
    if (well > 0 && !seen.refusal.empty())
        found.push_back({grade::problem, "no lock can be had: " + seen.refusal,
                         "name a user who may read and write " + how.needed_keys()});
    if (there == 0)
        found.push_back({grade::problem, "no member of " + how.shown() + " can be reached",
                         "start etcd, or look at the address, the user and the certificates"});
    if (how.endpoints.size() == 1)
        found.push_back({grade::note, "one member is named: while it is down nothing is locked or renewed",
                         "name all members, etcd://host,host,host"});
    if (!how.tls.on && !how.user.empty())
        found.push_back({grade::warning, "the password is sent unencrypted", "use etcds://"});
    if (seen.shortest_lease > spi::duration::zero())
        found.push_back({grade::note, "the shortest lease is " + base::readable(seen.shortest_lease) +
                                          ", one and a half elections of the cluster"});
    return found;
}

void diagnose(const settings& how, const std::shared_ptr<members>& cluster, spi::clock& clock,
              spi::reply<std::vector<finding>> done) {
    const auto all = std::make_shared<examination>();
    all->seen.members.resize(cluster->count());
    all->missing = cluster->count() + 2;
    all->done = std::move(done);
    const spi::time_point sent = clock.now();
    for (std::size_t i = 0; i < cluster->count(); ++i) {
        all->seen.members[i].address = cluster->address_of(i);
        cluster->ask_one(i, method::status, {}, how.timeout,
                         [all, i, sent, &clock, how](const rpc_result& reply, const std::string& bytes) {
                             rpc::status_response read;
                             {
                                 std::scoped_lock guard{all->mutex};
                                 member_report& one = all->seen.members[i];
                                 one.took = clock.now() - sent;
                                 one.answered = reply.ok() && decode(bytes, read);
                                 one.refused = reply.is == rpc_result::verdict::refused;
                                 one.trouble = reply.detail;
                                 one.version = read.version;
                                 one.has_leader = one.answered ? read.leader != 0 : !reply.no_leader;
                                 one.learner = read.learner;
                                 one.errors = std::move(read.errors);
                             }
                             all->answered(how);
                         });
    }
    const std::int64_t brief = lease_of(claim_id::random());
    cluster->ask(method::grant_lease, grant_lease_request(brief, 1), how.timeout,
                 [all, cluster, brief, how](const rpc_result& reply, const std::string& bytes) {
                     rpc::lease_response given;
                     if (reply.ok() && decode(bytes, given)) {
                         cluster->ask(method::revoke_lease, lease_request(brief), how.timeout,
                                      [](const rpc_result&, const std::string&) {});
                         std::scoped_lock guard{all->mutex};
                         all->seen.shortest_lease = base::told_span<std::chrono::seconds>(given.ttl);
                     }
                     all->answered(how);
                 });
    // What nobody claimed is given back: that changes nothing, but asks for all the rights that a claim needs. Where names
    // are keys, rights may be for some of them, and only what is beside them is asked for.
    const key_layout keys{how};
    const claim_id nobody = claim_id::random();
    const std::string folder = keys.folder_of("doctor");
    const claim_keys none{folder, keys.key_in(folder, nobody), keys.gone_key_of(nobody)};
    cluster->ask(method::txn, keys.native() ? leave_request(none, {}, false, 0) : read_request(none.gone_key),
                 how.timeout, [all, how](const rpc_result& reply, const std::string&) {
                     if (reply.is == rpc_result::verdict::refused) {
                         std::scoped_lock guard{all->mutex};
                         all->seen.refusal = reply.detail;
                     }
                     all->answered(how);
                 });
}

}  // namespace mortise::inline v0::stores::etcd
