#include "stores/etcd/line_reader.hpp"

#include "base/line.hpp"
#include "stores/etcd/requests.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

// For etcd, to read a part of a line is as much work as to read all of it. So long is what was read of a long one good enough
// to tell who holds.
constexpr std::chrono::minutes read_again_after{5};

}  // namespace

// Nothing is asked any more for a claim that was released meanwhile.
members::made_late line_reader::while_wanted(const record& claim, std::string request) const {
    const bool left = [&] {
        const auto held = table_->locked();
        return claim->machine.leaves();
    }();
    return [table = table_, claim, left, request = std::move(request)]() mutable -> std::optional<std::string> {
        const auto held = table->locked();
        if (!left && claim->machine.leaves()) return std::nullopt;
        return std::move(request);
    };
}

void line_reader::read(const record& claim, bool asked, then done) {
    std::vector<claim_record::neighbour> before;
    bool whole = false;
    bool at_a_glance = false;
    bool in_a_crowd = false;
    {
        const auto held = table_->locked();
        whole = claim->arrived == 0 || std::exchange(claim->read_whole, false);
        if (asked && parts_->context.clock.now() - claim->read_at < read_again_after) before = claim->neighbours;
        at_a_glance = !asked && claim->few_wait && claim->mine.at.weight == claim->mine.at.capacity;
        in_a_crowd = !asked && table_->is_in_a_crowd(*claim, held);
    }
    if (whole) return read_whole(claim, std::move(done));
    if (!before.empty()) return peek(claim, std::move(before), std::move(done));
    if (at_a_glance) return glance(claim, std::move(done));
    if (in_a_crowd) return read_front(claim, std::move(done));
    read_near(claim, asked, std::move(done));
}

// In a long line nothing has changed while the claim and those it waits for are there.
void line_reader::peek(const record& claim, std::vector<claim_record::neighbour> before, then done) {
    std::vector<std::string> keys;
    for (const auto& one : before) keys.push_back(one.key);
    parts_->cluster->ask_in_turn(method::txn, while_wanted(claim, peek_request(keys)), parts_->settings.timeout,
                                 [self = shared_from_this(), claim, before = std::move(before), done = std::move(done)](
                                     const rpc_result& reply, const std::string& bytes) mutable {
                                     if (!reply.ok()) return done({.reply = reply});
                                     const auto created = read_peek(bytes);
                                     if (std::ranges::equal(created, before, {}, {}, &claim_record::neighbour::created))
                                         return done({.reply = reply, .unchanged = true});
                                     self->read_near(claim, true, std::move(done));
                                 });
}

// The member that told it knows already, so it need not ask the others whether this is the newest. Once a claim that admits no
// other holds, it holds for as long as its key is there; so an old answer can only say too late that it does. A key that went
// and came again has lost its place: what is older than that is not believed. For all else, and if it does not hold, the
// line is read as it is now.
void line_reader::glance(const record& claim, then done) {
    parts_->cluster->ask_in_turn(method::range, while_wanted(claim, glance_request(claim->at.folder)),
                                 parts_->settings.timeout,
                                 [self = shared_from_this(), claim, done = std::move(done)](
                                     const rpc_result& reply, const std::string& bytes) mutable {
                                     std::optional<line_snapshot> found;
                                     if (reply.ok()) found = read_glance(self->parts_->keys, claim->at.folder, bytes);
                                     std::int64_t seen_at = 0;
                                     {
                                         const auto held = self->table_->locked();
                                         seen_at = claim->seen_at;
                                     }
                                     std::optional<base::line_verdict> judged;
                                     if (found) judged = found->judge_hold(claim->line_id, seen_at);
                                     if (!judged) return self->read_near(claim, false, std::move(done));
                                     done({.reply = reply, .found = std::move(found), .judged = std::move(judged)});
                                 });
}

void line_reader::read_near(const record& claim, bool asked, then done) {
    std::uint64_t up_to = 0;
    {
        const auto held = table_->locked();
        up_to = claim->arrived;
    }
    parts_->cluster->ask_in_turn(
        method::txn, while_wanted(claim, read_end_request(claim->at.folder, up_to, asked)), parts_->settings.timeout,
        [self = shared_from_this(), claim, done = std::move(done)](const rpc_result& reply,
                                                                   const std::string& bytes) mutable {
            txn_reply read;
            if (reply.ok()) read = read_txn(self->parts_->keys, claim->at.folder, bytes);
            if (!read.found) return done({.reply = reply});
            read.found->missing_after = true;
            std::optional<base::line_verdict> judged = read.found->judge(claim->line_id);
            if (!judged) return self->read_whole(claim, std::move(done));  // if it is not there, it may have come again
            done({.reply = reply, .found = std::move(read.found), .judged = std::move(judged)});
        });
}

void line_reader::read_front(const record& claim, then done) {
    {
        const std::scoped_lock guard{mutex_};
        if (closed_) return;
        const auto [at, first] = fronts_.try_emplace(claim->at.folder);
        if (!first) return at->second.push_back({claim, std::move(done)});
    }
    std::vector<reader> alone;
    alone.push_back({claim, std::move(done)});
    read_front_for(claim->at.folder, std::move(alone));
}

void line_reader::read_front_for(std::string folder, std::vector<reader> all) {
    std::string request = front_request(folder);
    const auto readers = std::make_shared<std::vector<reader>>(std::move(all));
    parts_->cluster->ask_in_turn(
        method::txn,
        [request = std::move(request)]() mutable -> std::optional<std::string> { return std::move(request); },
        parts_->settings.timeout,
        [self = shared_from_this(), folder = std::move(folder), readers](const rpc_result& reply,
                                                                         const std::string& bytes) {
            std::vector<reader> next;
            {
                const std::scoped_lock guard{self->mutex_};
                const auto at = self->fronts_.find(folder);
                if (at == self->fronts_.end()) return;  // closed
                next.swap(at->second);
                if (next.empty()) self->fronts_.erase(at);
            }
            if (!next.empty()) self->read_front_for(folder, std::move(next));
            txn_reply read;
            if (reply.ok()) read = read_txn(self->parts_->keys, folder, bytes);
            if (read.found) {
                read.found->missing_after = std::exchange(read.found->missing_before, false);
                self->table_->note_order(*read.found);
            }
            const base::judged_line line{read.found ? read.found->shape() : std::vector<base::line_entry>{}};
            for (reader& one : *readers) self->tell(std::move(one), reply, read.found, line);
        });
}

void line_reader::close() noexcept {
    std::unordered_map<std::string, std::vector<reader>> waiting;  // after the lock: they may own anything
    const std::scoped_lock guard{mutex_};
    closed_ = true;
    waiting.swap(fronts_);
}

void line_reader::tell(reader one, const rpc_result& reply, const std::optional<line_snapshot>& front,
                       const base::judged_line& line) {
    if (!front) return one.done({.reply = reply});
    std::uint64_t arrived = 0;
    {
        const auto held = table_->locked();
        arrived = one.claim->arrived;
    }
    std::optional<base::line_verdict> judged;
    if (line.index_of(one.claim->line_id))
        judged = front->floor == 0 ? line.of(one.claim->line_id) : front->judge(one.claim->line_id);
    const bool further_back = front->missing_after && !front->entries.empty() &&
                              front->entries.back().at.arrived < arrived && front->floor == 0;
    if (judged) return one.done({.reply = reply, .found = front, .judged = std::move(judged)});
    if (further_back) {
        line_snapshot last{.revision = front->revision, .entries = {front->entries.back()}};
        return one.done({.reply = reply, .found = std::move(last), .further_back = true});
    }
    read_near(one.claim, false, std::move(one.done));
}

void line_reader::read_whole(const record& claim, then done) {
    parts_->cluster->ask_in_turn(method::txn, while_wanted(claim, read_request(claim->at.folder)),
                                 parts_->settings.timeout,
                                 [self = shared_from_this(), claim, done = std::move(done)](
                                     const rpc_result& reply, const std::string& bytes) mutable {
                                     txn_reply read;
                                     if (reply.ok()) read = read_txn(self->parts_->keys, claim->at.folder, bytes);
                                     done({.reply = reply, .found = std::move(read.found)});
                                 });
}

}  // namespace mortise::inline v0::stores::etcd
