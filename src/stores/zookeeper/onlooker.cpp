#include "stores/zookeeper/onlooker.hpp"

#include "stores/zookeeper/holders.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {
namespace {

// A walk through all lines, and how many of its requests are open.
struct tour {
    spi::reply<spi::listing> done;
    std::mutex mutex;
    spi::listing all{};
    std::size_t open = 1;

    void more(std::size_t requests) {
        const std::scoped_lock guard{mutex};
        open += requests;
    }
    void found(spi::listed one) {
        const std::scoped_lock guard{mutex};
        all.holds.push_back(std::move(one));
    }
    void fail(const outcome& how, const session& servers) {
        const std::scoped_lock guard{mutex};
        all.failed = how == outcome::kind::denied ? errc::denied : errc::unreachable;
        all.detail = servers.complaint(how);
    }
    void closed() {
        {
            const std::scoped_lock guard{mutex};
            if (--open > 0) return;
        }
        std::stable_sort(all.holds.begin(), all.holds.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; });
        if (all.failed) all.holds.clear();
        done(std::move(all));
    }
};

// A search among those who hold.
struct search {
    spi::reply<spi::break_answer> done;
    std::mutex mutex;
    std::size_t open = 1;
    spi::break_answer answer = spi::break_answer::not_held;

    void more() {
        const std::scoped_lock guard{mutex};
        ++open;
    }
    void closed(spi::break_answer with = spi::break_answer::not_held) {
        {
            const std::scoped_lock guard{mutex};
            if (with != spi::break_answer::not_held && answer != spi::break_answer::broken) answer = with;
            if (--open > 0) return;
        }
        done(answer);
    }
};

// What a request that did not succeed says about a node: that it is not there, or nothing.
spi::break_answer answer_of(const outcome& how) {
    return how.ok() || how == outcome::kind::no_node ? spi::break_answer::not_held : spi::break_answer::unknown;
}

}  // namespace

// When it was granted is not told: a node has the time at which it was made, and it may have waited since.
void onlooker::describe(const std::string& node, unique_function<void(const outcome&, std::optional<holder>)> done) {
    servers_.read(
        node.empty() ? "/" : node, false,
        [node, done = std::move(done)](const outcome& how, const std::string& data, const node_stat& about) mutable {
            if (!how.ok() || node.empty()) return done(how, std::nullopt);
            holder who = read_holder(data);
            who.token = token::of(about.counter(), 0);
            done(how, std::move(who));
        });
}

void onlooker::list(spi::reply<spi::listing> done) {
    const auto on = std::make_shared<tour>();
    on->done = std::move(done);
    servers_.sync([this, on](const outcome& how) {
        if (!how.ok()) on->fail(how, servers_);
    });
    const auto line_read = [this, on](const std::string& line, const std::string& name, const outcome& how,
                                      const std::vector<std::string>& names) {
        if (!how.ok() && how.is != outcome::kind::no_node) on->fail(how, servers_);
        const std::vector<node_name> nodes = names_.read_line(names);
        const std::vector<node_name> holders = holders_of(nodes);
        on->more(holders.size());
        for (const node_name& one : holders) {
            spi::listed shown{.name = name,
                              .capacity = one.entry.capacity,
                              .weight = one.entry.weight,
                              .waiting = nodes.size() - holders.size()};
            describe(line + "/" + one.name, [this, on, shown](const outcome& read, std::optional<holder> who) mutable {
                if (who) {
                    shown.holder = std::move(*who);
                    on->found(std::move(shown));
                } else if (read.is != outcome::kind::no_node) {  // else it has gone meanwhile
                    on->fail(read, servers_);
                }
                on->closed();
            });
        }
        on->closed();
    };
    servers_.children(
        how_.root.empty() ? "/" : how_.root,
        [this, on, line_read](const outcome& how, const std::vector<std::string>& parts, const node_stat&) {
            if (!how.ok() && how.is != outcome::kind::no_node) on->fail(how, servers_);
            for (const std::string& part : parts) {
                const auto name = names_.name(part);
                if (!name) continue;
                on->more(1);
                const std::string line = how_.root + "/" + part;
                servers_.children(
                    line, [line_read, line, name = *name](const outcome& read, const std::vector<std::string>& names,
                                                          const node_stat&) { line_read(line, name, read, names); });
            }
            on->closed();
        });
}

void onlooker::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    const std::string line = names_.line(which.name);
    const auto on = std::make_shared<search>();
    on->done = std::move(done);
    const auto take_away = [this, on](const std::string& node) {
        servers_.remove(
            node, [on](const outcome& how) { on->closed(how.ok() ? spi::break_answer::broken : answer_of(how)); });
    };
    servers_.sync([](const outcome&) {});
    servers_.children(line, [this, line, on, take_away, counter = which.counter](
                                const outcome& how, const std::vector<std::string>& names, const node_stat&) {
        for (const node_name& one : holders_of(names_.read_line(names))) {
            on->more();
            const std::string node = line + "/" + one.name;
            servers_.look(node, [on, take_away, node, counter](const outcome& is, const node_stat& about) {
                if (!is.ok() || about.counter() != counter) return on->closed(answer_of(is));
                take_away(node);
            });
        }
        on->closed(answer_of(how));
    });
}

}  // namespace mortise::inline v0::stores::zookeeper
