#include "stores/redis/fixture.hpp"

#include "net/tls.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/rights.hpp"
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/records.hpp"
#include "stores/redis/servers/severed_replicas.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/servers/with_sentinels.hpp"
#include "stores/redis/servers/with_tls.hpp"
#include "support/waiting.hpp"

#include <charconv>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace mortise::inline v0::stores::redis {
namespace {

// Nothing is to fail over in a suite that breaks nothing, however slow the machine.
constexpr std::chrono::seconds patience{10};

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in{text};
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

// What one server keeps under a prefix.
struct litter {
    std::size_t keys = 0;     // one a name: its counter outlives the lock for a while
    std::size_t fields = 0;   // of holders and waiters
    std::size_t inboxes = 0;  // of clients

    void add(servers::server& from, const std::string& prefix) {
        std::string cursor = "0";
        do {
            const auto page = lines_of(from.command({"scan", cursor, "match", pattern_of(prefix), "count", "1000"}));
            cursor = page.at(0);
            for (std::size_t i = 1; i < page.size(); ++i) {
                ++keys;
                for (const std::string& field : lines_of(from.command({"hkeys", page[i]})))
                    if (field != ".") ++fields;
            }
        } while (cursor != "0");
        inboxes += lines_of(from.command({"pubsub", "channels", prefix + ":inbox:*"})).size();
    }
};

// How often the server has answered with this error. It proves that a fault bit.
std::size_t errors_of(servers::server& node, const std::string& kind) {
    const std::string said = node.field({"info", "errorstats"}, "errorstat_" + kind);
    const auto at = said.find("count=");
    return at == said.npos ? 0 : std::stoul(said.substr(at + 6));
}

// What makes the server answer with an error for a while.
spi::server_fault refusing(std::string name, servers::server& node, std::string kind, std::vector<std::string> on,
                           std::vector<std::string> off) {
    const auto before = std::make_shared<std::size_t>(0);
    return {.name = std::move(name),
            .strike =
                [=, &node] {
                    *before = errors_of(node, kind);
                    node.command(on);
                    return true;
                },
            .heal =
                [=, &node] {
                    if (!off.empty()) node.command(off);
                    return errors_of(node, kind) > *before;
                }};
}

// A server that may evict what has a lease, and needs memory for a moment.
spi::server_fault evicting(servers::server& node) {
    const auto evicted = [&node] { return std::stoul(node.field({"info", "stats"}, "evicted_keys")); };
    const auto before = std::make_shared<std::size_t>(0);
    return {.name = "locks evicted",
            .forgets = true,
            .strike =
                [=, &node] {
                    *before = evicted();
                    node.command({"config", "set", "maxmemory-policy", "volatile-lru"});
                    node.command({"config", "set", "maxmemory", "1"});
                    static_cast<void>(node.command({"dbsize"}));  // it makes room before it answers
                    node.command({"config", "set", "maxmemory", "0"});
                    node.command({"config", "set", "maxmemory-policy", "noeviction"});
                    return true;
                },
            .heal = [=] { return evicted() > *before; }};
}

// The master dies before its replicas know what it granted. Sentinels that take a silent master for dead after ten seconds are
// hastier meanwhile.
spi::server_fault failing_over(servers::with_sentinels& all) {
    const auto dead = std::make_shared<servers::server*>(nullptr);
    const auto silence = [&all](std::chrono::milliseconds longest) {
        for (const auto& each : all.sentinels())
            each->command({"sentinel", "set", servers::with_sentinels::name, "down-after-milliseconds",
                           std::to_string(longest.count())});
    };
    return {.name = "failover, grants lost",
            .forgets = true,
            .strike =
                [=, &all] {
                    servers::server* master = all.master();
                    if (master == nullptr) return false;
                    servers::severed_replicas replicas{*master, all.nodes()};
                    std::this_thread::sleep_for(std::chrono::seconds{4});
                    silence(std::chrono::milliseconds{500});
                    master->kill();
                    replicas.heal();
                    *dead = master;
                    all.await_master_other_than(*master);
                    return replicas.count() > 0;
                },
            .heal =
                [=, &all] {
                    if (*dead == nullptr) return false;
                    (*dead)->restart();
                    all.await_settled();
                    silence(patience);
                    return true;
                }};
}

// Of a server that keeps nothing on disk, unless it is told to before it ends. Killed later on, it returns with what it kept then.
std::vector<spi::server_fault> faults_of(servers::server& node) {
    const auto restarted = [&node] {
        node.restart();
        return true;
    };
    return {
        {.name = "server frozen",
         .strike =
             [&node] {
                 node.freeze();
                 return !node.awake();
             },
         .heal =
             [&node] {
                 const bool stood = node.running() && !node.awake();
                 node.thaw();
                 return stood;
             }},
        {.name = "server restarted with its data",
         .strike =
             [&node] {
                 try {
                     node.command({"shutdown", "save"});
                 } catch (const std::exception&) {  // it goes without an answer
                 }
                 return testing::eventually([&node] { return !node.running(); }, std::chrono::seconds{5});
             },
         .heal = restarted},
        {.name = "server killed, its data lost",
         .forgets = true,
         .strike =
             [&node] {
                 node.kill();
                 return !node.running();
             },
         .heal = restarted},
        refusing("scripts forgotten", node, "NOSCRIPT", {"script", "flush"}, {}),
        refusing("memory full", node, "OOM", {"config", "set", "maxmemory", "1"}, {"config", "set", "maxmemory", "0"}),
        evicting(node)};
}

// One arrangement of servers, started by the first fresh_url().
template <class Servers>
class redis_fixture final : public spi::fixture {
public:
    using start = std::unique_ptr<Servers> (*)();
    using address = std::string (*)(Servers&);  // up to its prefix, which is the last option

    redis_fixture(std::string_view name, start begin, address where) : name_(name), start_(begin), address_(where) {}

    std::string_view store() const noexcept override { return name_; }
    std::string reason_against(std::string_view) const override { return {}; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    std::string fresh_url() override {
        if (!servers_) servers_ = start_();
        return address_(*servers_) + "prefix=mortise:t" + std::to_string(++made_);
    }

    remains remains_at(const std::string& url) const override {
        const std::string prefix = prefix_in(url);
        litter left;
        const auto clean = [&] {  // a server may not have noticed yet that a client has gone
            left = {};
            for (servers::server* one : servers_->keepers()) left.add(*one, prefix);
            return left.fields == 0 && left.inboxes == 0;
        };
        return {.clean = testing::eventually(clean, std::chrono::seconds{2}),
                .figures = "keys=" + std::to_string(left.keys) + " fields=" + std::to_string(left.fields) +
                           " inboxes=" + std::to_string(left.inboxes)};
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        return servers::records_of(servers_->keepers(), prefix_in(url));
    }

    std::vector<spi::server_fault> faults() override {
        if constexpr (std::is_same_v<Servers, servers::single>) return faults_of(servers_->node());
        if constexpr (std::is_same_v<Servers, servers::with_sentinels>) return {failing_over(*servers_)};
        return {};
    }

private:
    static std::string prefix_in(const std::string& url) { return url.substr(url.rfind("prefix=") + 7); }

    const std::string_view name_;
    const start start_;
    const address address_;
    std::unique_ptr<Servers> servers_;
    int made_ = 0;
};

std::unique_ptr<spi::fixture> on_one_server() {
    return std::make_unique<redis_fixture<servers::single>>(
        "redis", [] { return std::make_unique<servers::single>(); },
        [](servers::single& on) { return "redis://" + on.node().address() + "?"; });
}

// As a user with the rights that are needed, and no others.
std::unique_ptr<spi::fixture> over_tls() {
    using servers::with_tls;
    return std::make_unique<redis_fixture<with_tls>>(
        "redis_tls", [] { return std::make_unique<with_tls>(acl_rules({})); },
        [](with_tls& on) {
            return std::string("rediss://") + with_tls::user + ":" + with_tls::password +
                   "@localhost:" + std::to_string(on.node().port()) + "?ca=" + on.files().authority + "&";
        });
}

std::unique_ptr<spi::fixture> on_sentinels() {
    using servers::with_sentinels;
    return std::make_unique<redis_fixture<with_sentinels>>(
        "redis_sentinel", [] { return std::make_unique<with_sentinels>(patience); },
        [](with_sentinels& on) { return "redis+sentinel://" + on.addresses() + "/" + with_sentinels::name + "?"; });
}

std::unique_ptr<spi::fixture> in_a_cluster() {
    using servers::cluster;
    return std::make_unique<redis_fixture<cluster>>(
        "redis_cluster", [] { return std::make_unique<cluster>(patience); },
        [](cluster& on) { return "redis+cluster://" + on.addresses() + "?"; });
}

// Zero: it is none.
claim_id id_in(std::string_view hex) {
    claim_id id;
    if (hex.size() < 32) return id;
    for (std::size_t i = 0; i < 2; ++i) std::from_chars(hex.data() + 16 * i, hex.data() + 16 * (i + 1), id.bits[i], 16);
    return id;
}

// protocol=setnx, whose keys say nothing but a value.
class setnx_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "redis_setnx"; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    std::string fresh_url() override {
        if (!server_) server_ = std::make_unique<servers::single>();
        return "redis://" + server_->node().address() + "?protocol=setnx&key_prefix=t" + std::to_string(++made_) + ":";
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex" || what == "semaphore") return "a key of SET NX is one holder's, whole";
        if (what == "names of holders") return "a key of SET NX has a random value, which does not say whose it is";
        return {};
    }

    // What is remembered of releases goes by itself.
    remains remains_at(const std::string& url) const override {
        const std::size_t keys = records_at(url).size();
        return {.clean = keys == 0, .figures = "keys=" + std::to_string(keys)};
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        const std::string prefix = url.substr(url.rfind("key_prefix=") + 11);
        std::vector<spi::stored_claim> all;
        for (const std::string& key : lines_of(server_->node().command({"keys", pattern_below(prefix)})))
            all.push_back({.name = key.substr(prefix.size()),
                           .id = id_in(server_->node().command({"get", key})),
                           .holds = true,
                           .where = key});
        return all;
    }

private:
    std::unique_ptr<servers::single> server_;
    int made_ = 0;
};

// protocol=redisson: hashes of owners, which are claims of ours.
class redisson_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "redis_redisson"; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    std::string fresh_url() override {
        if (!server_) server_ = std::make_unique<servers::single>();
        return "redis://" + server_->node().address() + "?protocol=redisson&key_prefix=t" + std::to_string(++made_) +
               ":";
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "semaphore" || what == "semaphore_input.numbers_out_of_range_are_refused_at_once")
            return "Redisson's locks have no permits to count, and its semaphore is another protocol";
        if (what == "refusals.of_a_claim_with_another_capacity_say_kind_mismatch")
            return "a capacity that is neither a mutex's nor a read-write lock's is refused before anybody's is looked "
                   "at";
        if (what == "upgrades" || what == "shared.there_is_one_upgradeable_read_at_a_time" ||
            what == "shared.an_upgradeable_read_goes_with_readers_and_not_with_a_writer")
            return "Redisson's read-write lock has no upgradeable readers, and its hash no way to mark them";
        if (what == "names of holders")
            return "an owner in Redisson's hash is a number, which does not say whose it is";
        return {};
    }

    // Latches go by themselves.
    remains remains_at(const std::string& url) const override {
        const std::size_t keys = records_at(url).size();
        const auto readers = lines_of(server_->node().command({"keys", "{" + prefix_in(url) + "*"}));
        return {.clean = keys == 0 && readers.empty(),
                .figures = "keys=" + std::to_string(keys) + " readers=" + std::to_string(readers.size())};
    }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        const std::string prefix = prefix_in(url);
        std::vector<spi::stored_claim> all;
        for (const std::string& key : lines_of(server_->node().command({"keys", pattern_below(prefix)})))
            for (std::string owner : lines_of(server_->node().command({"hkeys", key}))) {
                if (owner == "mode") continue;
                std::erase(owner, '-');
                all.push_back({.name = key.substr(prefix.size()), .id = id_in(owner), .holds = true, .where = key});
            }
        return all;
    }

private:
    static std::string prefix_in(const std::string& url) { return url.substr(url.rfind("key_prefix=") + 11); }

    std::unique_ptr<servers::single> server_;
    int made_ = 0;
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(on_one_server());
    if (net::has_tls()) all.push_back(over_tls());
    all.push_back(on_sentinels());
    all.push_back(in_a_cluster());
    all.push_back(std::make_unique<setnx_fixture>());
    all.push_back(std::make_unique<redisson_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::redis
