// What can be seen and done from outside. See desk.hpp for the picture.
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::int64_t keys_in_a_page = 2000;

constexpr std::size_t most_leases = 64;  // that are asked for; each is a request

}  // namespace

// Goes through all keys: for people, not for programs in a hurry.
struct desk::survey : std::enable_shared_from_this<survey> {
    std::shared_ptr<desk> of;
    std::map<std::string, line> lines;
    spi::listing all{};
    std::atomic<std::size_t> open{0};  // questions about leases
    spi::reply<spi::listing> done;

    void page(const std::string& from) {
        of->cluster_->look_up(
            method::range, all_request(from, of->keys_.everything(), keys_in_a_page), of->how_.timeout,
            [self = shared_from_this()](const outcome& said, const std::string& bytes) {
                rpc::range_response read;
                if (!said.ok() || !decode(bytes, read))
                    return self->done({.failed = said.ok() ? make_error_code(errc::unreachable) : said.reason,
                                       .detail = said.detail});
                for (const auto& kv : read.kvs) self->take(kv);
                if (!read.more || read.kvs.empty()) return self->finish();
                self->page(read.kvs.back().key + '\0');
            });
    }

    void take(const rpc::key_value& kv) {
        const auto name = of->keys_.name_in(kv.key);
        if (!name) return;
        for (entry& one : read_line(of->keys_, of->keys_.folder_of(*name), {.kvs = {kv}}, 0).entries)
            if (!leaving(*name, one.at.id)) lines[*name].entries.push_back(std::move(one));
    }

    // One that this client has released may still be seen: etcd answers requests in any order.
    bool leaving(const std::string& name, const claim_id& id) const {
        if (of->remembered(name, id)) return true;
        std::scoped_lock guard{of->mutex_};
        const auto it = of->claims_.find(id);
        return it != of->claims_.end() && it->second->is == claim_record::phase::over;
    }

    void finish() {
        std::map<std::int64_t, std::vector<std::size_t>> on_lease;  // which of the holds
        for (auto& [name, found] : lines) {
            const auto shape = found.shape();
            std::ranges::sort(found.entries, {}, [](const entry& one) { return one.at.stands_at(); });
            const std::size_t first = all.holds.size();
            for (const entry& one : found.entries) {
                if (base::judge(shape, one.at.id, 0).is != base::line_verdict::verdict::holds) continue;
                on_lease[one.lease].push_back(all.holds.size());
                all.holds.push_back(
                    {.name = name, .holder = of->holder_of(one), .capacity = one.at.capacity, .weight = one.at.weight});
            }
            const std::size_t waiting = found.entries.size() - (all.holds.size() - first);
            for (std::size_t i = first; i < all.holds.size(); ++i) all.holds[i].waiting = waiting;
        }
        on_lease.erase(0);
        if (on_lease.size() > most_leases) on_lease.clear();
        open = on_lease.size() + 1;
        for (auto& [lease, holds] : on_lease) ask_for(lease, std::move(holds));
        closed();
    }

    // What is left of it. Of one that gives no answer nothing is known.
    void ask_for(std::int64_t lease, std::vector<std::size_t> holds) {
        of->cluster_->look_up(
            method::left_of_lease, lease_request(lease), of->how_.timeout,
            [self = shared_from_this(), holds = std::move(holds)](const outcome& said, const std::string& bytes) {
                rpc::lease_response left;
                if (said.ok() && decode(bytes, left) && left.ttl > 0)
                    for (const std::size_t i : holds) self->all.holds[i].lease_left = std::chrono::seconds{left.ttl};
                self->closed();
            });
    }

    void closed() {
        if (--open == 0) done(std::move(all));
    }
};

void desk::list(spi::reply<spi::listing> done) {
    if (!keys_.native())
        return done({.failed = errc::unsupported,
                     .detail = "keys of protocol=concurrency look like any others, so they cannot be listed"});
    const auto all = std::make_shared<survey>();
    all->of = shared_from_this();
    all->done = std::move(done);
    all->page(keys_.everything());
}

void desk::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    using enum spi::break_answer;
    const std::string folder = keys_.folder_of(which.name);
    cluster_->look_up(
        method::txn, read_request(folder), how_.timeout,
        [self = shared_from_this(), folder, counter = which.counter, done = std::move(done)](
            const outcome& said, const std::string& bytes) mutable {
            const txn_said read = said.ok() ? read_txn(self->keys_, folder, bytes) : txn_said{};
            if (!read.found) return done(unknown);
            const auto shape = read.found->shape();
            const auto it = std::ranges::find_if(read.found->entries, [&](const entry& one) {
                return one.at.counter() == counter &&
                       base::judge(shape, one.at.id, read.found->floor).is == base::line_verdict::verdict::holds;
            });
            if (it == read.found->entries.end()) return done(not_held);
            self->cluster_->ask(
                method::txn, take_away_request(it->key, it->modified), self->how_.timeout,
                [self, its = *it, done = std::move(done)](const outcome& told, const std::string& text) mutable {
                    const txn_said end = told.ok() ? read_txn(self->keys_, {}, text) : txn_said{};
                    if (!end.read) return done(unknown);
                    if (end.succeeded && its.own_lease) self->leases_->revoke(its.lease, {});
                    done(end.succeeded ? broken : not_held);
                });
        });
}

}  // namespace mortise::inline v0::stores::etcd
