#include "stores/zookeeper/claims.hpp"

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stores/zookeeper/holder_lookup.hpp"
#include "stores/zookeeper/holders.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using std::chrono::milliseconds;
using kind_of_verdict = base::line_verdict::verdict;

// A hold that lasted so long is watched: short ones are not worth the request.
constexpr milliseconds watch_after{50};

constexpr milliseconds between_nudges{500};

// Tokens have room for 54 bits of it: 22 for the epoch of the leader, which rises with each election.
constexpr std::uint64_t most_counter = (std::uint64_t{1} << 54) - 1;

// What a claim is told that can never be granted as things are.
std::optional<spi::claim_answer> refusal_of(const node_claim& claim, const base::line_verdict& verdict) {
    spi::claim_answer no{.is = spi::claim_answer::verdict::refused};
    switch (verdict.is) {
        case kind_of_verdict::other_kind:
            no.reason = errc::kind_mismatch;
            no.detail = base::disagreement(verdict.capacity, claim.capacity);
            return no;
        case kind_of_verdict::lost:
            no.reason = errc::lost;
            return no;
        case kind_of_verdict::would_deadlock:
            no.reason = errc::would_deadlock;
            return no;
        default:
            return std::nullopt;
    }
}

}  // namespace

claim_ptr claims::known(const claim_id& id) const {
    const auto it = entries_.find(id);
    return it != entries_.end() ? it->second : nullptr;
}

void claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    deferred_calls say;
    const std::scoped_lock guard{mutex_};
    claim_ptr claim = known(wanted.id);
    if (released_.contains(wanted.id) || (claim && claim->leaving)) {
        return say([done = std::move(done)]() mutable { done({.is = refused, .reason = errc::cancelled}); });
    }
    if (!claim) {
        claim = std::make_shared<node_claim>();
        claim->name = wanted.name;
        claim->line = names_.line(wanted.name);
        claim->data = holder_record(context_.host, context_.pid, wanted.label);
        claim->id = wanted.id;
        claim->capacity = wanted.capacity;
        claim->weight = wanted.weight;
        claim->instead_of = wanted.instead_of;
        claim->lease = wanted.lease;
        claim->renewed = wanted.renew == mortise::renew::on;
        entries_.emplace(wanted.id, claim);
    }
    claim->queue = wanted.queue;
    claim->asked.push_back(std::move(done));
    if (std::string no = names_.objection(claim->name, line_entry_of(*claim)); !no.empty())
        return step_back(claim, {.is = refused, .reason = errc::unsupported, .detail = std::move(no)}, say);
    if (claim->held) return answer(claim, {.is = granted, .grant = grant_of(*claim)}, say);
    if (claim->busy) return nudge();
    proceed(claim, say);
}

// Asked once more for what is under way. A server may oversleep a request until the next one comes (README.md); one is
// enough for all, and a slow server is not to be asked more and more.
void claims::nudge() {
    const spi::time_point now = context_.clock.now();
    if (now - nudged_ < between_nudges) return;
    nudged_ = now;
    servers_.sync([](const request_status&) {});
}

// What is next for a claim that nothing is under way for.
void claims::proceed(const claim_ptr& claim, deferred_calls& say) {
    claim->again = false;
    if (claim->leaving) {
        if (!claim->node.empty()) return leave(claim);
        if (claim->unsure) return survey(claim);
        return find_out_who_holds(claim);
    }
    if (claim->held) {
        if (!claim->asked.empty())
            answer(claim, {.is = spi::claim_answer::verdict::granted, .grant = grant_of(*claim)}, say);
        return;
    }
    if (!claim->node.empty()) return look(claim);
    if (claim->unsure || !claim->queue) return survey(claim);
    enter(claim);
}

// Calls it with the line, and with mutex_ held.
void claims::list(const claim_ptr& claim, bool synced, listed then) {
    claim->busy = true;
    lines_.read(claim->line, synced,
                [this, claim, then = std::move(then)](const request_status& status, const line_listing& line) mutable {
                    deferred_calls say;
                    const std::scoped_lock guard{mutex_};
                    claim->busy = false;
                    then(status, line, say);
                });
}

// Reads the line as it is now; one that does not exist is empty.
void claims::read_line(const claim_ptr& claim, listed then) {
    list(claim, true,
         [then = std::move(then)](const request_status& status, const line_listing& line, deferred_calls& say) mutable {
             then(status == request_status::kind::no_node ? request_status{} : status, line, say);
         });
}

// Whether a node of ours is in the line is then certain: the servers take no request any more that was sent on an earlier
// connection of this session.
void claims::survey(const claim_ptr& claim) {
    read_line(claim, [this, claim](const request_status& status, const line_listing& line, deferred_calls& say) {
        if (!status.ok()) return failed(claim, status, say);
        if (const node_name* mine = line.find(claim->id)) return adopt(claim, claim->line + "/" + mine->name);
        claim->unsure = false;
        not_exchanged(claim);
        if (claim->leaving) return find_out_who_holds(claim);
        if (claim->queue) return enter(claim);
        // Would it hold if it were there?
        base::line_entry last = line_entry_of(*claim);
        for (const node_name& one : line.nodes) last.arrived = std::max(last.arrived, one.entry.arrived);
        ++last.arrived;
        line_listing with_it{.nodes = line.nodes};
        with_it.nodes.push_back({{}, last});
        with_it.verdicts = base::judged_line{entries_of(with_it.nodes)};
        const base::line_verdict verdict = with_it.verdicts.of(claim->id);
        if (verdict.is == kind_of_verdict::waits) return wait(claim, verdict, with_it);
        if (auto no = refusal_of(*claim, verdict)) return step_back(claim, *std::move(no), say);
        enter(claim);
    });
}

// A node of ours that we did not know of. One of an earlier session is about to go, and does not count.
void claims::adopt(const claim_ptr& claim, const std::string& node) {
    claim->busy = true;
    servers_.stat(node, [this, claim, node](const request_status& status, const node_stat& stat) {
        deferred_calls say;
        const std::scoped_lock guard{mutex_};
        claim->busy = false;
        if (!status.ok() && status.is != request_status::kind::no_node) return failed(claim, status, say);
        if (status.ok() && keepalive_.is(stat.session)) {
            claim->node = node;
            claim->counter = stat.counter();
            claim->unsure = false;
            took_a_place(node) ? exchanged(claim) : not_exchanged(claim);
            return proceed(claim, say);
        }
        claim->busy = true;
        servers_.remove(node, [this, claim](const request_status& gone) {
            deferred_calls tell;
            const std::scoped_lock held{mutex_};
            claim->busy = false;
            if (!gone.ok() && gone.is != request_status::kind::no_node) return failed(claim, gone, tell);
            survey(claim);
        });
    });
}

// Both requests at once: the second one sees what the first one did.
void claims::enter(const claim_ptr& claim) {
    claim->busy = true;
    const auto entered = std::make_shared<request_status>();
    servers_.create(
        claim->line + "/" + names_.prefix(line_entry_of(*claim)), claim->data, session::kind::ephemeral_sequential,
        [this, claim, entered](const request_status& status, const std::string& node, const node_stat& stat) {
            *entered = status;
            if (!status.ok()) return;
            const std::scoped_lock guard{mutex_};
            claim->node = node;
            claim->counter = stat.created;
        });
    list(claim, false,
         [this, claim, entered](const request_status& status, const line_listing& line, deferred_calls& say) {
             if (*entered == request_status::kind::no_node) return make_parents(claim);
             if (*entered == request_status::kind::unsure) claim->unsure = true;
             if (!entered->ok()) return failed(claim, *entered, say);
             if (!status.ok()) return failed(claim, status, say);
             judge(claim, line, say);
         });
}

// The root and what is above it stay; a line is a container, which the servers remove some time after the last node has gone.
void claims::make_parents(const claim_ptr& claim) {
    claim->busy = true;
    for (std::size_t at = claim->line.find('/', 1); at != std::string::npos; at = claim->line.find('/', at + 1))
        servers_.create(claim->line.substr(0, at), {},
                        at <= settings_.root.size() ? session::kind::persistent : session::kind::container,
                        [](const request_status&, const std::string&, const node_stat&) {});
    servers_.create(claim->line, {}, session::kind::container,
                    [this, claim](const request_status& status, const std::string&, const node_stat&) {
                        deferred_calls say;
                        const std::scoped_lock guard{mutex_};
                        claim->busy = false;
                        if (!status.ok() && status.is != request_status::kind::exists)
                            return failed(claim, status, say);
                        proceed(claim, say);
                    });
}

void claims::look(const claim_ptr& claim) {
    list(claim, false, [this, claim](const request_status& status, const line_listing& line, deferred_calls& say) {
        if (status == request_status::kind::no_node) return vanished(claim, say);
        if (!status.ok()) return failed(claim, status, say);
        judge(claim, line, say);
    });
}

void claims::judge(const claim_ptr& claim, const line_listing& line, deferred_calls& say) {
    if (claim->leaving) return proceed(claim, say);
    if (claim->node.empty()) return failed(claim, request_status::session_expired(), say);  // since it was asked for
    const base::line_verdict verdict = line.verdicts.of(claim->id);
    if (auto no = refusal_of(*claim, verdict)) return step_back(claim, *std::move(no), say);
    switch (verdict.is) {
        case kind_of_verdict::holds:
            if (line.floor.version > 0 && line.floor.changed > claim->counter) return stamp(claim, line.floor);
            return grant(claim, say);
        case kind_of_verdict::may_exchange:
            return exchange(claim, verdict, line.nodes, line.floor);
        case kind_of_verdict::waits:
            return wait(claim, verdict, line);
        default:
            return vanished(claim, say);
    }
}

void claims::grant(const claim_ptr& claim, deferred_calls& say) {
    if (claim->counter > most_counter)
        return step_back(claim,
                         {.is = spi::claim_answer::verdict::refused,
                          .reason = errc::exhausted,
                          .detail = "the leader's epoch is over 4,194,303, too large for tokens"},
                         say);
    claim->held = true;
    claim->queued = false;
    const spi::grant given = grant_of(*claim);
    claim->until = given.counted_from + *given.lease;
    if (!claim->renewed)
        context_.clock.at(claim->until, [this, id = claim->id] {
            if (closed_) return;
            const std::scoped_lock guard{mutex_};
            const claim_ptr over = known(id);
            if (over && over->held && !over->leaving) expire(over);
        });
    watch_holds_later();
    if (!claim->asked.empty()) return answer(claim, {.is = spi::claim_answer::verdict::granted, .grant = given}, say);
    say([this, claim, given] { context_.events.granted(claim->name, claim->id, given); });
}

spi::grant claims::grant_of(const node_claim& claim) const {
    const auto lease = keepalive_.lease_for(claim.lease);
    return {.counter = claim.counter, .lease = lease.length, .counted_from = lease.counted_from};
}

// Not its turn: watches what has to go first, or goes away if it was not to wait.
void claims::wait(const claim_ptr& claim, const base::line_verdict& verdict, const line_listing& line) {
    using enum spi::claim_answer::verdict;
    if (!claim->queue &&
        only_leavers_before(claim, line.nodes)) {  // they were told to go before it came: it looks again without them
        for (const node_name& one : line.nodes)
            if (is_leaving(one.entry.id)) watch(claim, claim->line + "/" + one.name);
        return;
    }
    if (claim->queue)
        for (const claim_id& id : verdict.watch)
            if (const node_name* before = line.find(id)) watch(claim, claim->line + "/" + before->name);
    if (claim->asked.empty()) return;
    claim->busy = true;
    const node_name* first = verdict.holder ? line.find(*verdict.holder) : nullptr;
    look_up_holder(servers_, first != nullptr ? claim->line + "/" + first->name : std::string{},
                   [this, claim, place = verdict.place](const request_status&, std::optional<mortise::holder> holder) {
                       deferred_calls say;
                       const std::scoped_lock guard{mutex_};
                       claim->busy = false;
                       const spi::standing standing{.holder = std::move(holder), .place = place};
                       if (claim->leaving) return proceed(claim, say);
                       if (!claim->queue) return step_back(claim, {.is = busy, .standing = standing}, say);
                       claim->queued = true;
                       answer(claim, {.is = queued, .standing = standing}, say);
                       if (claim->again) proceed(claim, say);
                   });
}

bool claims::is_leaving(const claim_id& id) const {
    const claim_ptr claim = known(id);
    return claim && claim->leaving;
}

// Whether it would not have to wait but for claims of ours that are on their way out.
bool claims::only_leavers_before(const claim_ptr& claim, std::span<const node_name> line) const {
    std::vector<base::line_entry> rest = entries_of(line);
    std::erase_if(rest, [&](const base::line_entry& one) { return is_leaving(one.id); });
    return rest.size() < line.size() && base::judge(rest, claim->id).is != kind_of_verdict::waits;
}

// Told once, by node_changed(). What is watched already need not be asked for. Who may not read the node is told nothing by the
// servers, and looks again in its own time.
void claims::watch(const claim_ptr& claim, const std::string& node) {
    const auto [first, last] = watches_.equal_range(node);
    if (std::any_of(first, last, [&](const auto& one) { return one.second == claim->id; })) return;
    watches_.emplace(node, claim->id);
    servers_.read(node, true, [this, node](const request_status& status, const std::string&, const node_stat&) {
        if (status == request_status::kind::no_node) return node_changed(node);  // it has gone meanwhile: look again
        if (status.ok()) return;
        const std::scoped_lock guard{mutex_};
        watches_.erase(node);  // nothing is watched; who waits looks again once there is a connection
    });
}

void claims::node_changed(const std::string& path) {
    if (closed_) return;
    deferred_calls say;
    const std::scoped_lock guard{mutex_};
    std::vector<claim_ptr> waiters;
    const auto [first, last] = watches_.equal_range(path);
    for (auto it = first; it != last; ++it)
        if (const claim_ptr claim = known(it->second)) waiters.push_back(claim);
    watches_.erase(first, last);
    for (const claim_ptr& claim : waiters) {
        if (claim->leaving) continue;
        if (claim->held) {
            confirm(claim);
        } else if (claim->busy) {
            claim->again = true;
        } else {
            proceed(claim, say);
        }
    }
}

// Is the node of a hold still there? And from now on, who removes it tells us.
void claims::confirm(const claim_ptr& claim) {
    claim->watched = true;
    watches_.emplace(claim->node, claim->id);
    servers_.read(claim->node, true, [this, claim](const request_status& status, const std::string&, const node_stat&) {
        deferred_calls say;
        const std::scoped_lock guard{mutex_};
        if (status.ok() || known(claim->id) != claim) return;
        watches_.erase(claim->node);
        claim->watched = false;  // looked at again once there is a connection
        if (status == request_status::kind::no_node && claim->held && !claim->leaving && !claim->being_replaced)
            vanished(claim, say);
    });
}

// One request for each hold that lasts: it tells us if somebody removes the node.
void claims::watch_holds_later() {
    if (std::exchange(watching_holds_, true)) return;
    context_.clock.at(context_.clock.now() + watch_after, [this] {
        if (closed_) return;
        const std::scoped_lock guard{mutex_};
        watching_holds_ = false;
        for (const auto& [id, claim] : entries_)
            if (claim->held && !claim->leaving && !claim->watched) confirm(claim);
    });
}

// The claim is not to be: its node goes, and then that is verdict.
void claims::step_back(const claim_ptr& claim, spi::claim_answer because, deferred_calls& say) {
    if (claim->node.empty()) {
        answer(claim, because, say);
        entries_.erase(claim->id);
        return;
    }
    claim->busy = true;
    servers_.remove(claim->node, [this, claim, because = std::move(because)](const request_status& status) {
        deferred_calls tell;
        const std::scoped_lock guard{mutex_};
        claim->busy = false;
        if (!status.ok() && status.is != request_status::kind::no_node) return failed(claim, status, tell);
        claim->node.clear();
        answer(claim, because, tell);
        if (claim->leaving) return proceed(claim, tell);
        entries_.erase(claim->id);
    });
}

// Its node is not there, and that is not our doing.
void claims::vanished(const claim_ptr& claim, deferred_calls& say) {
    const bool believed = claim->held || claim->queued;
    claim->node.clear();
    if (claim->leaving) return proceed(claim, say);
    entries_.erase(claim->id);
    answer(claim, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    if (believed) say([this, claim] { context_.events.lost(claim->name, claim->id); });
}

void claims::failed(const claim_ptr& claim, const request_status& status, deferred_calls& say) {
    using enum spi::claim_answer::verdict;
    if (status == request_status::kind::expired) {
        claim->node.clear();
        claim->unsure = false;
    }
    auto asked = std::exchange(claim->released, {});
    for (auto& one : asked) say([done = std::move(one)]() mutable { done(spi::release_answer::unknown); });
    if (status == request_status::kind::denied || status == request_status::kind::refused) {
        answer(claim,
               {.is = refused,
                .reason = status == request_status::kind::denied ? errc::denied : errc::unsupported,
                .detail = status == request_status::kind::denied
                              ? "the servers do not let us change " + base::quoted(claim->line) + " (" + status.text() +
                                    "); are user and password those that made it?"
                              : "the servers refuse it: " + status.text()},
               say);
        if (!claim->leaving && claim->node.empty()) entries_.erase(claim->id);
        return;
    }
    answer(claim,
           {.is = unknown,
            .reason = errc::unreachable,
            .detail = servers_.complaint(status),
            .unreached = servers_.unreached(status)},
           say);
}

void claims::answer(const claim_ptr& claim, const spi::claim_answer& what, deferred_calls& say) {
    auto asked = std::exchange(claim->asked, {});
    for (auto& one : asked) say([done = std::move(one), what]() mutable { done(std::move(what)); });
}

void claims::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    using enum spi::renewal_answer;
    std::vector<spi::renewal_answer> answers;
    answers.reserve(due.size());
    {
        const std::scoped_lock guard{mutex_};
        const spi::time_point now = context_.clock.now();
        const spi::time_point alive_until = keepalive_.alive_until();
        for (const spi::renewal& one : due) {
            const claim_ptr claim = known(one.id);
            if (!claim || !claim->held || claim->leaving) {
                answers.push_back(claim && claim->leaving && !claim->ended ? unknown : lost);
            } else if (alive_until < now + one.lease) {
                answers.push_back(unknown);
            } else {
                claim->until = std::max(claim->until, now + one.lease);
                answers.push_back(renewed);
            }
        }
    }
    done(std::move(answers));
}

void claims::session_started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) {
    keepalive_.started(id, requested_at, timeout);
}

void claims::session_reconnected(spi::duration timeout) {
    if (closed_) return;
    keepalive_.reconnected(timeout);
    {
        deferred_calls say;
        const std::scoped_lock guard{mutex_};
        std::vector<claim_ptr> all;
        for (const auto& [id, claim] : entries_)
            if (claim->leaving && !claim->busy) all.push_back(claim);
        for (const claim_ptr& claim : all) proceed(claim, say);
        watch_holds_later();
    }
    context_.events.reconnected();
}

// The servers have removed all our nodes.
void claims::session_expired() {
    if (closed_) return;
    keepalive_.expired();
    deferred_calls say;
    const std::scoped_lock guard{mutex_};
    watches_.clear();
    std::vector<claim_ptr> all;
    for (const auto& [id, claim] : entries_) all.push_back(claim);
    for (const claim_ptr& claim : all) {
        claim->unsure = false;
        claim->node.clear();
        if (claim->busy) continue;
        if (claim->held || claim->queued || claim->leaving) vanished(claim, say);
    }
}

void claims::expire_unrenewed(spi::time_point now) {
    const std::scoped_lock guard{mutex_};
    std::vector<claim_ptr> over;
    for (const auto& [id, claim] : entries_)
        if (claim->held && !claim->leaving && claim->until < now) over.push_back(claim);
    for (const claim_ptr& claim : over) expire(claim);
}

// Pending replies are dropped, and with them what they keep alive.
void claims::close() noexcept {
    if (closed_.exchange(true)) return;
    keepalive_.close();
    lines_.close();
    std::unordered_map<claim_id, claim_ptr> forgotten;
    const std::scoped_lock guard{mutex_};
    forgotten.swap(entries_);
}

}  // namespace mortise::inline v0::stores::zookeeper
