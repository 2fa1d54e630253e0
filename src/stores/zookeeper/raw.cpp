#include "stores/zookeeper/raw.hpp"

#include "base/limits.hpp"
#include "base/process.hpp"
#include "stores/zookeeper/bare_client.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/holders.hpp"

#include <mortise/claim_id.hpp>

#include <exception>

namespace mortise::inline v0::stores::zookeeper {
namespace {

std::string home_of(const settings& how, const std::string& place) {
    return how.root + "-raw/" + place;
}

// A node like that of a claim, made and removed.
class node_end final : public raw_end {
public:
    node_end(const settings& how, const std::string& place)
        : prefix_(home_of(how, place) + "/" +
                  naming{how.root, naming::protocol::own}.prefix({.id = claim_id::random()})),
          data_(holder_record(base::host_name(), base::process_id(), "bench")),
          line_(how) {
        line_.make(home_of(how, place));
    }
    void lock() override { node_ = line_.enter(prefix_, data_); }
    void unlock() override { line_.remove(node_); }

private:
    const std::string prefix_;
    const std::string data_;
    bare_client line_;
    std::string node_;
};

// A node that one removes and the other watches. Each side has its gate, which is shut while the other has the turn.
class watch_end final : public raw_end {
public:
    watch_end(const settings& how, const std::string& place, unsigned side)
        : home_(home_of(how, place)), mine_(gate(side)), others_(gate(1 - side)), line_(how) {
        if (line_.make(home_)) {
            line_.make(gate(1));  // side 0 has the turn first
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

    static void clear(const settings& how, const std::string& place) {
        bare_client line{how};
        const std::string home = home_of(how, place);
        for (const char* part : {"/0", "/1", "/ready", "/left", ""}) line.remove(home + part);
    }

private:
    std::string gate(unsigned side) const { return home_ + "/" + std::to_string(side); }

    const std::string home_;
    const std::string mine_;
    const std::string others_;
    bare_client line_;
    bool alone_ = false;
};

// Of all servers together.
store_usage usage_of(const settings& how) {
    store_usage used;
    for (const std::string& one : each_server(how.servers))
        if (const server_facts told = read_facts(four_letters(one, "srvr")); !told.version.empty())
            used.commands = used.commands.value_or(0) + told.received;
    return used;
}

}  // namespace

mortise::raw_limits bare_limits(const settings& how) {
    mortise::raw_limits limits;
    const auto cleared = [how](const std::string& place) {
        try {
            watch_end::clear(how, place);
        } catch (const std::exception&) {  // it can be removed by hand
        }
    };
    limits.all.push_back({"bare create and delete", raw_limit::kind::trips,
                          [how](const std::string& place, unsigned) -> std::unique_ptr<raw_end> {
                              base::check_raw_place(place);
                              return std::make_unique<node_end>(how, place);
                          },
                          cleared});
    limits.all.push_back({"bare watch", raw_limit::kind::turns,
                          [how](const std::string& place, unsigned side) -> std::unique_ptr<raw_end> {
                              base::check_raw_place(place);
                              return std::make_unique<watch_end>(how, place, side);
                          },
                          cleared});
    limits.usage = [how] { return usage_of(how); };
    return limits;
}

}  // namespace mortise::inline v0::stores::zookeeper
