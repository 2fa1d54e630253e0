#include "stores/zookeeper/baseline/baselines.hpp"

#include "base/process.hpp"
#include "stores/zookeeper/baseline/zookeeper_client.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/holders.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/claim_id.hpp>

#include <exception>

namespace mortise::inline v0::stores::zookeeper {
namespace {

std::string home_of(const settings& config, const std::string& place) {
    return config.root + "-baseline/" + place;
}

// A node like that of a claim, created and deleted.
class node_end final : public baseline_end {
public:
    node_end(const settings& config, const std::string& place)
        : prefix_(home_of(config, place) + "/" +
                  naming{config.root, naming::protocol::own}.prefix({.id = claim_id::random()})),
          data_(holder_record(base::host_name(), base::process_id(), "bench")),
          line_(config) {
        line_.make(home_of(config, place));
    }
    void lock() override { node_ = line_.enter(prefix_, data_); }
    void unlock() override { line_.remove(node_); }

private:
    const std::string prefix_;
    const std::string data_;
    zookeeper_client line_;
    std::string node_;
};

class exists_end final : public baseline_end {
public:
    explicit exists_end(const settings& config) : line_(config) {}
    void lock() override { line_.exists("/"); }
    void unlock() override { lock(); }

private:
    zookeeper_client line_;
};

// One side deletes a node that the other watches. The node of a side exists while the other has the turn.
class watch_end final : public baseline_end {
public:
    watch_end(const settings& config, const std::string& place, unsigned side)
        : home_(home_of(config, place)), mine_(node_of(side)), others_(node_of(1 - side)), line_(config) {
        if (line_.make(home_)) {
            line_.make(node_of(1));  // side 0 has the turn first
            line_.make(home_ + "/ready");
        }
        while (!line_.exists(home_ + "/ready")) line_.await_news();  // the other side is about to make it
    }
    ~watch_end() override {
        try {
            line_.make(home_ + "/left");
            line_.remove(others_);
        } catch (const std::exception&) {  // clear() removes the rest
        }
    }

    void lock() override {
        while (!alone_ && line_.exists(mine_)) {
            if ((alone_ = line_.exists(home_ + "/left"))) return;
            line_.await_news();
        }
    }
    void unlock() override {
        if (alone_) return;
        if (!line_.both(mine_, others_)) alone_ = true;
    }

    static void clear(const settings& config, const std::string& place) {
        zookeeper_client line{config};
        const std::string home = home_of(config, place);
        for (const char* part : {"/0", "/1", "/ready", "/left", ""}) line.remove(home + part);
    }

private:
    std::string node_of(unsigned side) const { return home_ + "/" + std::to_string(side); }

    const std::string home_;
    const std::string mine_;
    const std::string others_;
    zookeeper_client line_;
    bool alone_ = false;
};

// The sum over all servers.
store_usage usage_of(const settings& config) {
    store_usage used;
    for (const std::string& one : each_server(config.servers))
        if (const server_facts facts = read_facts(four_letters(one, "srvr")); !facts.version.empty())
            used.commands = used.commands.value_or(0) + facts.received;
    return used;
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const settings config = settings::of(address);
    baselines found;
    const auto cleared = [config](const std::string& place) {
        try {
            watch_end::clear(config, place);
        } catch (const std::exception&) {  // it can be removed by hand
        }
    };
    found.all.push_back({"create and delete", baseline::kind::round_trip,
                         [config](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<node_end>(config, place);
                         },
                         cleared});
    found.all.push_back({"exists", baseline::kind::trip,
                         [config](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<exists_end>(config);
                         },
                         [](const std::string&) {}});
    found.all.push_back({"watch ping-pong", baseline::kind::ping_pong,
                         [config](const std::string& place, unsigned side) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<watch_end>(config, place, side);
                         },
                         cleared});
    found.usage = [config] { return usage_of(config); };
    return found;
}

}  // namespace mortise::inline v0::stores::zookeeper
