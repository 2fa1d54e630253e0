#include "stores/etcd/fixture.hpp"

#include "stores/etcd/baseline/grpc_client.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/servers/cluster.hpp"
#include "support/server_faults.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace mortise::inline v0::stores::etcd {
namespace {

// So many members, started by the first fresh_url().
class etcd_fixture final : public spi::fixture {
public:
    etcd_fixture(std::string_view name, std::size_t members) : name_(name), members_(members) {}

    std::string_view store() const noexcept override { return name_; }
    std::string reason_against(std::string_view) const override { return {}; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::seconds{2}; }

    std::string fresh_url() override {
        if (!cluster_) cluster_ = std::make_unique<servers::cluster>(members_);
        return "etcd://" + cluster_->addresses() + "?prefix=t" + std::to_string(++made_);
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override { return etcd::records_at(url); }

    std::vector<spi::server_fault> faults() override {  // of three members, to the one that leads at the beginning
        servers::server& one = cluster_->member(cluster_->size() == 1 ? 0 : cluster_->leader());
        return testing::frozen_and_killed(one, [&one] { one.await_ready(); });
    }

    remains remains_at(const std::string& url) const override {
        const std::string prefix = url.substr(url.rfind("prefix=") + 7);
        std::ptrdiff_t keys = 0;
        const auto clean = [&] {  // the lease of a client that has gone is being revoked
            const std::string reply = cluster_->member(0).command("get --prefix --keys-only '" + prefix + "/'");
            // Marks of released ids go by themselves; a floor stays if the last to leave did not know of it.
            keys = 0;
            std::istringstream lines{reply};
            for (std::string key; std::getline(lines, key);)
                if (key.starts_with(prefix + "/") && !key.starts_with(prefix + "/%gone/") && !key.ends_with("/floor"))
                    ++keys;
            return keys == 0;
        };
        return {.clean = testing::eventually(clean, std::chrono::seconds{5}),
                .figures = "keys=" + std::to_string(keys)};
    }

private:
    const std::string_view name_;
    const std::size_t members_;
    std::unique_ptr<servers::cluster> cluster_;
    int made_ = 0;
};

// protocol=concurrency, whose names are keys: tests of one name meet on one server, so each begins without any keys.
class concurrency_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "etcd_concurrency"; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::seconds{2}; }

    std::string fresh_url() override {
        if (!server_) server_ = std::make_unique<servers::cluster>(1);
        server_->member(0).command("del --prefix ''");
        // The timeout makes it an address of its own, and means nothing to the tests.
        return "etcd://" + server_->addresses() + "?protocol=concurrency&timeout=" + std::to_string(2000 + ++made_) +
               "ms";
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex") return "Go's mutex has one way to be held, and no readers";
        if (what == "exclusion.names_that_look_alike_do_not_meet")
            return "a name is a prefix of keys, as for Go's mutex, so that a meets a/b";
        if (what == "audits") return "a key shows the lease of a claim, from which its id cannot be told";
        if (what == "names of holders") return "a key of Go's mutex has no value, which could say whose it is";
        return {};
    }
    std::vector<spi::stored_claim> records_at(const std::string&) const override { return {}; }

private:
    std::unique_ptr<servers::cluster> server_;
    int made_ = 0;
};

}  // namespace

std::vector<spi::stored_claim> records_at(const std::string& url) {
    settings how = settings::of(base::url::parse(url));
    how.timeout = std::chrono::seconds{20};
    const key_layout keys{how};
    grpc_client asking{how};
    std::map<std::string, rpc::range_response> names;
    rpc::range_response page{.more = true};
    for (std::string from = keys.everything(); page.more; from = page.kvs.back().key + '\0') {
        page = {};
        if (!decode(asking.ask(method::range, all_request(from, keys.everything(), 1000)), page))
            throw error(errc::unreachable, how.shown() + " answered what cannot be read");
        for (const auto& kv : page.kvs)
            if (const auto name = keys.name_in(kv.key)) names[*name].kvs.push_back(kv);
        if (page.kvs.empty()) break;
    }
    std::vector<spi::stored_claim> all;
    for (const auto& [name, folder] : names) {
        const std::string begins = keys.folder_of(name);
        for (const auto& kv : folder.kvs)
            if (const line_snapshot one = read_line(keys, begins, {.kvs = {kv}}, 0);
                one.entries.empty() && one.floor == 0)
                all.push_back({.name = name, .where = kv.key});
        const line_snapshot whole = read_line(keys, begins, folder, 0);
        const auto shape = whole.shape();
        for (const stored_claim& one : whole.entries)
            all.push_back({name, one.at.id,
                           base::judge(shape, one.at.id, whole.floor).is == base::line_verdict::verdict::holds,
                           one.key + " on lease " + std::to_string(one.lease)});
    }
    return all;
}

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<etcd_fixture>("etcd", 1));
    all.push_back(std::make_unique<etcd_fixture>("etcd_three", 3));
    all.push_back(std::make_unique<concurrency_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::etcd
