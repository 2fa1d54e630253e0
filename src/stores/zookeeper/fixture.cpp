#include "stores/zookeeper/fixture.hpp"

#include "stores/zookeeper/holders.hpp"
#include "stores/zookeeper/servers/console.hpp"
#include "stores/zookeeper/servers/ensemble.hpp"
#include "stores/zookeeper/settings.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace mortise::inline v0::stores::zookeeper {
namespace {

// A busy machine may keep client or server from running for seconds, and no test but of deaths is about that.
constexpr std::chrono::seconds session{10};

// Servers that are started by the first fresh_url().
class zookeeper_fixture final : public spi::fixture {
public:
    zookeeper_fixture(std::string_view name, std::size_t members) : name_(name), members_(members) {}

    std::string_view store() const noexcept override { return name_; }
    std::string reason_against(std::string_view) const override { return {}; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return session; }

    std::string fresh_url() override {
        if (!servers_) servers_ = std::make_unique<servers::ensemble>(members_);
        return "zookeeper://" + servers_->addresses() + "/t" + std::to_string(++made_) +
               "?session=" + std::to_string(session.count()) + "s";
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        return zookeeper::records_at(url);
    }

private:
    const std::string_view name_;
    const std::size_t members_;
    std::unique_ptr<servers::ensemble> servers_;
    int made_ = 0;
};

}  // namespace

std::vector<spi::stored_claim> records_at(const std::string& url) {
    const settings how = settings::of(base::url::parse(url));
    const naming names{how.root, how.protocol};
    servers::console asking{how.servers};
    std::vector<spi::stored_claim> all;
    for (const std::string& part : asking.children(how.root)) {
        const std::string line = how.root + "/" + part;
        const std::string name = names.name(part).value_or(part);
        const std::vector<std::string> nodes = asking.children(line);
        for (const std::string& node : nodes)
            if (!names.read(node)) all.push_back({.name = name, .where = line + "/" + node});
        const auto entries = names.read_line(nodes);
        const auto holders = holders_of(entries);
        for (const node_name& one : entries)
            all.push_back({name, one.entry.id, find(holders, one.entry.id) != nullptr, line + "/" + one.name});
    }
    return all;
}

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<zookeeper_fixture>("zookeeper", 1));
    all.push_back(std::make_unique<zookeeper_fixture>("zookeeper_3", 3));
    return all;
}

}  // namespace mortise::inline v0::stores::zookeeper
