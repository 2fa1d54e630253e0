#include "stores/etcd/checkup.hpp"

#include "base/text.hpp"
#include "rpc.pb.h"
#include "stores/etcd/requests.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using grade = finding::grade;

struct member_report {
    bool answered = false;
    std::string trouble{};
    mortise_etcd::status_response said{};
    spi::duration took{};
};

struct examination {
    std::mutex mutex;
    std::vector<member_report> members;
    std::size_t missing = 0;
    spi::reply<std::vector<finding>> done;
};

std::vector<finding> findings_of(const settings& how, const members& cluster, const std::vector<member_report>& all) {
    std::vector<finding> found;
    std::size_t well = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const member_report& one = all[i];
        const std::string who = "member " + cluster.address_of(i);
        if (!one.answered) {
            found.push_back({grade::warning, who + " does not answer: " + one.trouble,
                             "start it, or take it out of the store's address"});
            continue;
        }
        ++well;
        found.push_back(
            {grade::good, who + " is etcd " + one.said.version() + " and answers in " + base::readable(one.took)});
        if (one.said.leader() == 0)
            found.push_back({grade::warning, who + " knows no leader", "bring back a majority of the members"});
    }
    if (well == 0) found.push_back({grade::problem, "no member of " + how.shown() + " can be reached", "start etcd"});
    return found;
}

}  // namespace

void check_up(const settings& how, members& cluster, spi::clock& clock, spi::reply<std::vector<finding>> done) {
    const auto all = std::make_shared<examination>();
    all->members.resize(cluster.count());
    all->missing = cluster.count();
    all->done = std::move(done);
    const spi::time_point sent = clock.now();
    for (std::size_t i = 0; i < cluster.count(); ++i)
        cluster.ask_one(i, method::status, {}, how.timeout,
                        [all, i, sent, &clock, &cluster, how](const outcome& said, const std::string& bytes) {
                            std::unique_lock held{all->mutex};
                            member_report& one = all->members[i];
                            one.took = clock.now() - sent;
                            one.answered = said.ok() && one.said.ParseFromString(bytes);
                            one.trouble = said.detail;
                            if (--all->missing > 0) return;
                            held.unlock();
                            all->done(findings_of(how, cluster, all->members));
                        });
}

}  // namespace mortise::inline v0::stores::etcd
