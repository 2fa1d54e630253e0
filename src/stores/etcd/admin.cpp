#include "stores/etcd/admin.hpp"

#include "base/line.hpp"
#include "base/told_span.hpp"
#include "stores/etcd/holders.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::int64_t keys_in_a_page = 2000;

constexpr std::size_t most_leases = 64;  // that are asked for; each is a request

}  // namespace

// Goes through all keys: for people, not for programs in a hurry.
struct admin::survey : std::enable_shared_from_this<survey> {
    std::shared_ptr<admin> of;
    std::map<std::string, line_snapshot> lines;
    spi::listing all{};
    std::atomic<std::size_t> open{0};  // questions about leases
    spi::reply<spi::listing> done;

    void page(const std::string& from) {
        of->parts_->cluster->look_up(
            method::range, all_request(from, of->parts_->keys.everything(), keys_in_a_page),
            of->parts_->settings.timeout,
            [self = shared_from_this()](const rpc_result& reply, const std::string& bytes) {
                rpc::range_response read;
                if (!reply.ok() || !decode(bytes, read))
                    return self->done({.failed = reply.ok() ? make_error_code(errc::unreachable) : reply.reason,
                                       .detail = reply.detail});
                for (const auto& kv : read.kvs) self->take(kv);
                if (!read.more || read.kvs.empty()) return self->finish();
                self->page(read.kvs.back().key + '\0');
            });
    }

    void take(const rpc::key_value& kv) {
        const auto name = of->parts_->keys.name_in(kv.key);
        if (!name) return;
        for (stored_claim& one :
             read_line(of->parts_->keys, of->parts_->keys.folder_of(*name), {.kvs = {kv}}, 0).entries)
            if (!leaving(*name, one.at.id)) lines[*name].entries.push_back(std::move(one));
    }

    // One that this client has released may still be seen: etcd answers requests in any order.
    bool leaving(const std::string& name, const claim_id& id) const {
        const auto held = of->table_->locked();
        return of->table_->leaves(name, id, held);
    }

    void finish() {
        std::map<std::int64_t, std::vector<std::size_t>> on_lease;  // which of the holds
        for (auto& [name, found] : lines) {
            const auto shape = found.shape();
            std::ranges::sort(found.entries, {}, [](const stored_claim& one) { return one.at.stands_at(); });
            const std::size_t first = all.holds.size();
            for (const stored_claim& one : found.entries) {
                if (base::judge(shape, one.at.id, 0).is != base::line_verdict::verdict::holds) continue;
                on_lease[one.lease].push_back(all.holds.size());
                all.holds.push_back(
                    {.name = name, .holder = holder_of(one), .capacity = one.at.capacity, .weight = one.at.weight});
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
        of->parts_->cluster->look_up(
            method::left_of_lease, lease_request(lease), of->parts_->settings.timeout,
            [self = shared_from_this(), holds = std::move(holds)](const rpc_result& reply, const std::string& bytes) {
                rpc::lease_response left;
                if (reply.ok() && decode(bytes, left) && left.ttl > 0)
                    for (const std::size_t i : holds)
                        self->all.holds[i].lease_left = base::told_span<std::chrono::seconds>(left.ttl);
                self->closed();
            });
    }

    void closed() {
        if (--open == 0) done(std::move(all));
    }
};

void admin::list(spi::reply<spi::listing> done) {
    if (!parts_->keys.native())
        return done({.failed = errc::unsupported,
                     .detail = "keys of protocol=concurrency look like any others, so they cannot be listed"});
    const auto all = std::make_shared<survey>();
    all->of = shared_from_this();
    all->done = std::move(done);
    all->page(parts_->keys.everything());
}

void admin::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    break_as_read(std::string(which.name), which.counter, false, std::move(done));
}

// If its key was written meanwhile, which whoever asks for a kept lock does once, it is read again.
void admin::break_as_read(const std::string& name, std::uint64_t counter, bool again,
                          spi::reply<spi::break_answer> done) {
    using enum spi::break_answer;
    const std::string folder = parts_->keys.folder_of(name);
    parts_->cluster->look_up(
        method::txn, read_request(folder), parts_->settings.timeout,
        [self = shared_from_this(), name, folder, counter, again, done = std::move(done)](
            const rpc_result& reply, const std::string& bytes) mutable {
            const txn_reply read = reply.ok() ? read_txn(self->parts_->keys, folder, bytes) : txn_reply{};
            if (!read.found) return done(unknown);
            const auto shape = read.found->shape();
            const auto it = std::ranges::find_if(read.found->entries, [&](const stored_claim& one) {
                return one.at.counter() == counter &&
                       base::judge(shape, one.at.id, read.found->floor).is == base::line_verdict::verdict::holds;
            });
            if (it == read.found->entries.end()) return done(not_held);
            self->parts_->cluster->ask(
                method::txn, take_away_request(it->key, it->modified), self->parts_->settings.timeout,
                [self, its = *it, name, counter, again, done = std::move(done)](const rpc_result& told,
                                                                                const std::string& text) mutable {
                    const txn_reply end = told.ok() ? read_txn(self->parts_->keys, {}, text) : txn_reply{};
                    if (!end.read) return done(unknown);
                    if (!end.succeeded && !again) return self->break_as_read(name, counter, true, std::move(done));
                    if (end.succeeded && its.own_lease) self->parts_->leases->revoke(its.lease, {});
                    done(end.succeeded ? broken : not_held);
                });
        });
}

}  // namespace mortise::inline v0::stores::etcd
