#include "stores/zookeeper/admin.hpp"

#include "stores/zookeeper/holder_lookup.hpp"
#include "stores/zookeeper/holders.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// The reading of all lines, and how many of its requests are open.
struct admin::listing_job {
    // With names that are paths, whatever lies below the root is read. It may be more than locks.
    static constexpr std::size_t most_lines = 100'000;

    spi::reply<spi::listing> done;
    std::mutex mutex;
    spi::listing all{};
    std::size_t open = 1;
    std::size_t lines = 0;

    // One more request, then.
    bool has_room_for_a_line() {
        const std::scoped_lock guard{mutex};
        if (++lines <= most_lines) {
            ++open;
            return true;
        }
        all.failed = errc::exhausted;
        all.detail = "there are more than 100,000 nodes below the path of the address; give it one that has locks only";
        return false;
    }

    void more(std::size_t requests) {
        const std::scoped_lock guard{mutex};
        open += requests;
    }
    void found(spi::listed one) {
        const std::scoped_lock guard{mutex};
        all.holds.push_back(std::move(one));
    }
    void fail(const request_status& status, const session& servers) {
        const std::scoped_lock guard{mutex};
        all.failed = status == request_status::kind::denied ? errc::denied : errc::unreachable;
        all.detail = servers.complaint(status);
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

namespace {

// The search for a hold among those on a name.
struct break_job {
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

// What a failed request says about a node: that it does not exist, or nothing.
spi::break_answer answer_of(const request_status& status) {
    return status.ok() || status == request_status::kind::no_node ? spi::break_answer::not_held
                                                                  : spi::break_answer::unknown;
}

}  // namespace

void admin::list(spi::reply<spi::listing> done) {
    const auto job = std::make_shared<listing_job>();
    job->done = std::move(done);
    servers_.sync([this, job](const request_status& status) {
        if (!status.ok()) job->fail(status, servers_);
    });
    servers_.children(
        settings_.root.empty() ? "/" : settings_.root,
        [this, job](const request_status& status, const std::vector<std::string>& parts, const node_stat&) {
            if (!status.ok() && status.is != request_status::kind::no_node) job->fail(status, servers_);
            for (const std::string& part : parts)
                if (const auto name = names_.name(part)) read_line(job, settings_.root + "/" + part, *name);
            job->closed();
        });
}

void admin::read_line(const std::shared_ptr<listing_job>& job, const std::string& line, const std::string& name) {
    if (!job->has_room_for_a_line()) return;
    servers_.children(line, [this, job, line, name](const request_status& status, const std::vector<std::string>& names,
                                                    const node_stat&) {
        if (!status.ok() && status.is != request_status::kind::no_node) job->fail(status, servers_);
        const std::vector<node_name> nodes = names_.read_line(names);
        const std::vector<node_name> holders = holders_of(nodes);
        job->more(holders.size());
        for (const node_name& one : holders) {
            spi::listed shown{.name = name,
                              .capacity = one.entry.capacity,
                              .weight = one.entry.weight,
                              .waiting = nodes.size() - holders.size()};
            look_up_holder(servers_, line + "/" + one.name,
                           [this, job, shown](const request_status& read, std::optional<holder> found, bool) mutable {
                               if (found) {
                                   shown.holder = std::move(*found);
                                   job->found(std::move(shown));
                               } else if (read.is != request_status::kind::no_node) {  // else it has just gone
                                   job->fail(read, servers_);
                               }
                               job->closed();
                           });
        }
        if (names_.nests())
            for (const std::string& part : names)
                if (!names_.read(part)) read_line(job, line + "/" + part, name + "/" + part);
        job->closed();
    });
}

void admin::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    const std::string line = names_.line(which.name);
    const auto job = std::make_shared<break_job>();
    job->done = std::move(done);
    const auto remove = [this, job](const std::string& node) {
        servers_.remove(node, [job](const request_status& status) {
            job->closed(status.ok() ? spi::break_answer::broken : answer_of(status));
        });
    };
    servers_.sync([](const request_status&) {});
    servers_.children(line, [this, line, job, remove, counter = which.counter](
                                const request_status& status, const std::vector<std::string>& names, const node_stat&) {
        for (const node_name& one : holders_of(names_.read_line(names))) {
            job->more();
            const std::string node = line + "/" + one.name;
            servers_.stat(node, [job, remove, node, counter](const request_status& is, const node_stat& stat) {
                if (!is.ok() || stat.counter() != counter) return job->closed(answer_of(is));
                remove(node);
            });
        }
        job->closed(answer_of(status));
    });
}

}  // namespace mortise::inline v0::stores::zookeeper
