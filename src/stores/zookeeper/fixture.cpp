#include "stores/zookeeper/fixture.hpp"

#include "stores/zookeeper/holders.hpp"
#include "stores/zookeeper/servers/console.hpp"
#include "stores/zookeeper/servers/ensemble.hpp"
#include "stores/zookeeper/settings.hpp"
#include "support/server_faults.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace mortise::inline v0::stores::zookeeper {
namespace {

// A busy machine may keep client or server from running for seconds, and no test but of deaths is about that.
constexpr std::chrono::seconds session{10};

// What Curator's recipes cannot do.
std::string reason_of_curator(std::string_view what) {
    if (what == "semaphore" || what == "semaphore_input.numbers_out_of_range_are_refused_at_once")
        return "Curator's mutex and read-write lock have no permits to count, and its semaphore is another protocol";
    if (what == "refusals.of_a_claim_with_another_capacity_say_kind_mismatch")
        return "a capacity that is neither a mutex's nor a read-write lock's is refused before anybody's is looked at";
    if (what == "lists.count_who_waits_and_show_every_holder_of_a_name")
        return "several holders of a name are shown by a semaphore's, and Curator's locks have no permits";
    if (what == "exclusion.names_that_look_alike_do_not_meet")
        return "names are paths of nodes, as for Curator, so that some that look alike are no names at all";
    if (what == "upgrades" || what == "shared.there_is_one_upgradeable_read_at_a_time" ||
        what == "shared.an_upgradeable_read_goes_with_readers_and_not_with_a_writer")
        return "Curator's read-write lock has no upgradeable readers, and its nodes no way to mark them";
    return {};
}

// The claims in the line at root/part. A name of Curator's may contain others: what is no claim is a line then.
void add_line(servers::console& asking, const naming& names, const settings& found, const std::string& part,
              std::vector<spi::stored_claim>& all) {
    const std::string line = found.root + "/" + part;
    const std::string name = names.name(part).value_or(part);
    const std::vector<std::string> nodes = asking.children(line);
    for (const std::string& node : nodes) {
        if (names.read(node)) continue;
        if (found.protocol == naming::protocol::curator)
            add_line(asking, names, found, part + "/" + node, all);
        else
            all.push_back({.name = name, .where = line + "/" + node});
    }
    const auto entries = names.read_line(nodes);
    const auto holders = holders_of(entries);
    for (const node_name& one : entries)
        all.push_back({name, one.entry.id, find(holders, one.entry.id) != nullptr, line + "/" + one.name});
}

// Servers that are started by the first fresh_url().
class zookeeper_fixture final : public spi::fixture {
public:
    zookeeper_fixture(std::string_view name, std::size_t members, naming::protocol protocol = naming::protocol::own)
        : name_(name), members_(members), protocol_(protocol) {}

    std::string_view store() const noexcept override { return name_; }
    std::string reason_against(std::string_view what) const override {
        return protocol_ == naming::protocol::curator ? reason_of_curator(what) : std::string{};
    }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return session; }

    std::string fresh_url() override {
        if (!servers_) servers_ = std::make_unique<servers::ensemble>(members_);
        return "zookeeper://" + servers_->addresses() + "/t" + std::to_string(++made_) +
               "?session=" + std::to_string(session.count()) + "s" +
               (protocol_ == naming::protocol::curator ? "&protocol=curator" : "");
    }

    std::vector<spi::server_fault> faults() override {
        return testing::frozen_and_killed((*servers_)[0], [this] { servers_->await_serving(); });
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        return zookeeper::records_at(url);
    }

private:
    const std::string_view name_;
    const std::size_t members_;
    const naming::protocol protocol_;
    std::unique_ptr<servers::ensemble> servers_;
    int made_ = 0;
};

}  // namespace

std::vector<spi::stored_claim> records_at(const std::string& url) {
    const settings found = settings::of(base::url::parse(url));
    const naming names{found.root, found.protocol};
    servers::console asking{found.servers};
    std::vector<spi::stored_claim> all;
    for (const std::string& part : asking.children(found.root)) add_line(asking, names, found, part, all);
    return all;
}

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<zookeeper_fixture>("zookeeper", 1));
    all.push_back(std::make_unique<zookeeper_fixture>("zookeeper_3", 3));
    all.push_back(std::make_unique<zookeeper_fixture>("zookeeper_curator", 1, naming::protocol::curator));
    return all;
}

}  // namespace mortise::inline v0::stores::zookeeper
