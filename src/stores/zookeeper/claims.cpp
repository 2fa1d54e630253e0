#include "stores/zookeeper/claims.hpp"

#include "base/text.hpp"
#include "stores/zookeeper/holder_lookup.hpp"
#include "stores/zookeeper/holders.hpp"
#include "stores/zookeeper/line_node.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using std::chrono::milliseconds;
using action_kind = base::queued_claim::action::kind;
using fate = base::queued_claim::fate;
using phase = base::queued_claim::phase;
using status_kind = request_status::kind;
using claim_is = spi::claim_answer::verdict;

// A hold is watched after this time: for a shorter one that is not worth the request.
constexpr milliseconds watch_after{50};

constexpr std::chrono::seconds between_retries{1};

// At the line of a read that its client may keep.
constexpr milliseconds between_looks{10};

}  // namespace

claims::claims(const settings& settings, const naming& names, const spi::context& context, session& servers,
               session_keepalive& keepalive)
    : settings_(settings), names_(names), context_(context), servers_(servers), keepalive_(keepalive) {
    keepalive_.on_heartbeat([this](spi::time_point now) { expire_unrenewed(now); });
}

claim_ptr claims::known(const claim_id& id) const {
    const auto it = claims_.find(id);
    return it != claims_.end() ? it->second : nullptr;
}

void claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    deferred_calls later;
    const auto refuse = [&](errc reason, std::string detail) {
        later([done = std::move(done), reason, detail = std::move(detail)]() mutable {
            done({.is = claim_is::refused, .reason = reason, .detail = std::move(detail)});
        });
    };
    const std::scoped_lock guard{mutex_};
    claim_ptr claim = known(wanted.id);
    if (!claim) {
        if (released_.find(wanted.id, context_.clock.now()) != nullptr) return refuse(errc::cancelled, {});
        const base::line_entry entry{
            .id = wanted.id, .capacity = wanted.capacity, .weight = wanted.weight, .instead_of = wanted.instead_of};
        if (std::string no = names_.objection(wanted.name, entry); !no.empty())
            return refuse(errc::unsupported, std::move(no));
        claim = std::make_shared<node_claim>(rules_of(entry));
        claim->name = wanted.name;
        claim->line = names_.line(wanted.name);
        claim->data = holder_record(context_.host, context_.pid, wanted.label, wanted.keeps_idle);
        claim->entry = entry;
        claim->lease = wanted.lease;
        claim->renewed = wanted.renew == mortise::renew::on;
        claim->keeps = wanted.keeps_idle;
        claims_.emplace(wanted.id, claim);
    }
    if (claim->machine.busy()) keepalive_.nudge();
    claim->queues = wanted.queue;
    claim->claimers.push_back(std::move(done));
    run(claim, claim->machine.ask(wanted.queue), later);
}

void claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const base::ended_claim* ended = released_.find(id, context_.clock.now()))
        return later([done = std::move(done), reply = spi::release_answer(ended->answer)]() mutable { done(reply); });
    claim_ptr claim = known(id);
    if (!claim) {  // of another client: whoever made it, its node is to go
        const base::line_entry entry{.id = id};
        claim = std::make_shared<node_claim>(rules_of(entry));
        claim->machine = machine::of_another(rules_of(entry));
        claim->name = name;
        claim->line = names_.line(name);
        claim->entry = entry;
        claims_.emplace(id, claim);
    }
    if (claim->machine.busy() && claim->machine.leaves()) keepalive_.nudge();
    claim->releasers.push_back(std::move(done));
    run(claim, claim->machine.release(), later);
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
            if (!claim || !claim->machine.holds()) {
                answers.push_back(claim && claim->machine.leaves() && !claim->machine.expired() ? unknown : lost);
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

// Pending replies are dropped, and with them what they keep alive.
void claims::close() noexcept {
    if (closed_.exchange(true)) return;
    keepalive_.close();
    lines_.close();
    std::unordered_map<claim_id, claim_ptr> forgotten;
    const std::scoped_lock guard{mutex_};
    forgotten.swap(claims_);
}

void claims::session_started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) {
    keepalive_.started(id, requested_at, timeout);
}

void claims::session_reconnected(spi::duration timeout) {
    if (closed_) return;
    keepalive_.reconnected(timeout);
    {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        std::vector<claim_ptr> all;
        for (const auto& [id, claim] : claims_) all.push_back(claim);
        for (const claim_ptr& claim : all) run(claim, claim->machine.retry(), later);
        watch_holds_later();
    }
    context_.events.reconnected();
}

// The servers have removed all our nodes.
void claims::session_expired() {
    if (closed_) return;
    keepalive_.expired();
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    watches_.clear();
    std::vector<claim_ptr> all;
    for (const auto& [id, claim] : claims_) all.push_back(claim);
    for (const claim_ptr& claim : all) {
        claim->node.clear();
        run(claim, claim->machine.lease_over(), later);
        run(claim, claim->machine.retry(), later);
    }
}

// A watch, which reports once.
void claims::node_changed(const std::string& path) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    std::vector<claim_ptr> watchers;
    const auto [first, last] = watches_.equal_range(path);
    for (auto it = first; it != last; ++it)
        if (const claim_ptr claim = known(it->second)) watchers.push_back(claim);
    watches_.erase(first, last);
    std::vector<claim_id> kept;
    for (const claim_ptr& claim : watchers) {
        if (path == claim->line) {
            if (claim->entry.weight == claim->entry.capacity)
                tell_keeper(claim, later);  // whoever comes wants it
            else
                kept.push_back(claim->entry.id);
        } else if (claim->machine.holds())
            watch_hold(claim);
        else if (claim->machine.is() == phase::lingering)
            run(claim, claim->machine.retry(), later);
        else
            run(claim, claim->machine.woken(), later);
    }
    if (!kept.empty()) watch_kept_again(path, std::move(kept));
}

void claims::run(const claim_ptr& claim, const machine::actions& actions, deferred_calls& later,
                 const line_listing* line) {
    claim->unasked = claim->keeps && !claim->claimers.empty() && claim->machine.holds() && line != nullptr &&
                     !line->wanted_since(claim->counter);
    for (const machine::action& action : actions) {
        if (action.ticket != 0)
            request(claim, action, later, line);
        else if (action.what == action_kind::watch)
            for (const claim_id& id : action.verdict->watch) watch(claim, id, *line);
        else if (action.what == action_kind::linger)
            watch_leavers(claim, *line);
        else
            tell(claim, action, later);
    }
}

void claims::request(const claim_ptr& claim, const machine::action& action, deferred_calls& later,
                     const line_listing* line) {
    switch (action.what) {
        case action_kind::enter:
            return enter(claim, action.ticket, later);
        case action_kind::read: {
            // With a node of its own in the line it knows which changes to wait for; without, it has to see everybody's.
            const phase is = claim->machine.is();
            return read(claim, action.ticket, is == phase::looking || is == phase::leaving);
        }
        case action_kind::describe:
            return describe(claim, action, *line);
        case action_kind::exchange:
            return exchange(claim, action, *line);
        case action_kind::stamp:
            return stamp(claim, action.ticket, *line);
        case action_kind::remove:
            return remove(claim, action.ticket);
        default:  // a grant needs no confirmation: its node and its session are the same transaction's
            return;
    }
}

void claims::tell(const claim_ptr& claim, const machine::action& action, deferred_calls& later) {
    const spi::time_point now = context_.clock.now();
    switch (action.what) {
        case action_kind::answer: {
            spi::claim_answer reply = *action.answer_is;
            if (reply.is == claim_is::granted) reply.grant = grant_of(*claim);
            reply.grant.told = claim->unasked;
            reply.kept = reply.is == claim_is::busy && claim->behind_keeper;
            return claim->answer(reply, later);
        }
        case action_kind::granted:
            return later([this, claim, grant = grant_of(*claim)] {
                context_.events.granted(claim->name, claim->entry.id, grant);
            });
        case action_kind::lost:
            return later([this, claim] { context_.events.lost(claim->name, claim->entry.id); });
        case action_kind::released:
            if (action.released_as != spi::release_answer::unknown)
                released_.add(base::ended_claim::at(now, claim->entry.id, action.released_as), now);
            return claim->answer_release(action.released_as, later);
        case action_kind::watch_hold:
            claim->watched = false;
            if (claim->unasked) watch_kept(claim->line, {claim->entry.id});
            return watch_holds_later();
        case action_kind::retry:
            return retry_later(claim);
        case action_kind::old_gone:
            if (const claim_ptr old = known(claim->entry.instead_of)) run(old, old->machine.replaced(), later);
            return released_.add(base::ended_claim::at(now, claim->entry.instead_of, spi::release_answer::released),
                                 now);
        case action_kind::old_stays:
            if (const claim_ptr old = known(claim->entry.instead_of)) run(old, old->machine.not_replaced(), later);
            return;
        case action_kind::forget:
            claims_.erase(claim->entry.id);
            return;
        default:  // unwatch: a watch that nobody waits for reports once and is gone
            return;
    }
}

// Both requests at once: the listing shows what the creation did.
void claims::enter(const claim_ptr& claim, machine::ticket ticket, deferred_calls& later) {
    if (!claim->machine.entry_sent(ticket))  // it was released while the line was made
        return run(claim, claim->machine.failed(ticket, fate::not_done, {}), later);
    const auto entered = std::make_shared<request_status>();
    servers_.create(
        claim->line + "/" + names_.prefix(claim->entry), claim->data, session::kind::ephemeral_sequential,
        [this, claim, entered](const request_status& status, const std::string& node, const node_stat& stat) {
            *entered = status;
            if (!status.ok()) return;
            const std::scoped_lock guard{mutex_};
            claim->node = node;
            claim->counter = stat.created;
        });
    lines_.read(claim->line, false,
                [this, claim, ticket, entered](const request_status& status, const line_listing& line) {
                    deferred_calls then;
                    const std::scoped_lock guard{mutex_};
                    if (*entered == status_kind::no_node) return create_line(claim, ticket);
                    if (!entered->ok()) return failed(claim, ticket, *entered, then);
                    if (claim->node.empty())  // the session has expired since
                        return failed(claim, ticket, request_status::session_expired(), then);
                    if (!status.ok()) return run(claim, claim->machine.entered(ticket), then);
                    line_read(claim, ticket, line, then);
                });
}

void claims::create_line(const claim_ptr& claim, machine::ticket ticket) {
    create_line_node(servers_, settings_.root, claim->line, [this, claim, ticket](const request_status& status) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        status.ok() ? enter(claim, ticket, later) : failed(claim, ticket, status, later);
    });
}

// A line that does not exist is empty.
void claims::read(const claim_ptr& claim, machine::ticket ticket, bool synced) {
    lines_.read(claim->line, synced, [this, claim, ticket](const request_status& status, const line_listing& line) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        if (!status.ok_or(status_kind::no_node)) return failed(claim, ticket, status, later);
        line_read(claim, ticket, line, later);
    });
}

void claims::line_read(const claim_ptr& claim, machine::ticket ticket, const line_listing& line,
                       deferred_calls& later) {
    if (const node_name* mine = line.find(claim->entry.id); mine != nullptr) {
        const std::string node = claim->line + "/" + mine->name;
        if (claim->node != node && !claim->machine.leaves()) return adopt(claim, ticket, node);
        claim->node = node;
    }
    const auto leaves = [this](const claim_id& id) {
        const claim_ptr other = known(id);
        return other && other->machine.leaves();
    };
    run(claim, claim->machine.seen(ticket, view_of(*claim, line, leaves), context_.clock.now()), later, &line);
}

// A node of ours whose creation was not confirmed. One of an earlier session does not count, and is about to go.
void claims::adopt(const claim_ptr& claim, machine::ticket ticket, const std::string& node) {
    servers_.stat(node, [this, claim, ticket, node](const request_status& status, const node_stat& stat) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        if (!status.ok_or(status_kind::no_node)) return failed(claim, ticket, status, later);
        if (status.ok() && keepalive_.is(stat.session)) {
            claim->node = node;
            claim->counter = stat.counter();
            return read(claim, ticket, false);
        }
        servers_.remove(node, [this, claim, ticket](const request_status& removed) {
            deferred_calls then;
            const std::scoped_lock held{mutex_};
            if (!removed.ok_or(status_kind::no_node)) return failed(claim, ticket, removed, then);
            read(claim, ticket, true);
        });
    });
}

void claims::describe(const claim_ptr& claim, const machine::action& action, const line_listing& line) {
    const node_name* first = action.verdict->holder ? line.find(*action.verdict->holder) : nullptr;
    const std::string node = first != nullptr ? claim->line + "/" + first->name : std::string{};
    const bool reads = first != nullptr && first->entry.weight < first->entry.capacity;
    bool nobody_waits = false;
    if (!claim->queues) {
        std::vector<base::line_entry> others = entries_of(line.nodes);
        std::erase_if(others, [&](const auto& one) { return one.id == claim->entry.id; });
        nobody_waits = base::all_hold(others);
    }
    look_up_holder(servers_, node,
                   [this, claim, node, reads, nobody_waits, floor = line.floor, ticket = action.ticket,
                    place = action.verdict->place](const request_status&, std::optional<holder> found, bool keeps) {
                       deferred_calls later;
                       const std::scoped_lock guard{mutex_};
                       keeps = keeps && !names_.nests();
                       claim->behind_keeper = keeps && nobody_waits && !claim->queues;
                       if (claim->behind_keeper || (keeps && reads && claim->queues))
                           keepers_.ask(claim->line, floor, node);
                       run(claim, claim->machine.described(ticket, {.holder = std::move(found), .place = place}),
                           later);
                   });
}

// One transaction takes the old hold's place, if nobody has come to hold since the line was read (base/line.hpp).
void claims::exchange(const claim_ptr& claim, const machine::action& action, const line_listing& line) {
    using kind = session::operation::kind;
    const claim_id& old_id = claim->entry.instead_of;
    std::vector<session::operation> all{{.is = kind::set, .path = claim->line, .version = line.floor.version}};
    for (const claim_id& id : action.verdict->guards) {
        const bool goes = id == claim->entry.id || id == old_id;
        all.push_back({.is = goes ? kind::remove : kind::check, .path = claim->line + "/" + line.find(id)->name});
    }
    all.push_back({.is = kind::create_sequential,
                   .path = claim->line + "/" + names_.prefix(claim->entry, line.find(old_id)->stands_at),
                   .data = claim->data});
    if (const claim_ptr old = known(old_id)) old->machine.yield();
    servers_.transact(std::move(all), [this, claim, ticket = action.ticket](
                                          const request_status& status, const std::string& node, const node_stat& set) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        if (status.ok()) {
            claim->node = node;
            claim->counter = set.changed;  // the same transaction
            if (claim->counter > largest_counter) return run(claim, claim->machine.changed(ticket), later);
            return run(claim, claim->machine.exchanged(ticket, claim->counter), later);
        }
        if (status == status_kind::unsure) claim->node.clear();  // it is one of two
        if (status == status_kind::no_node || status == status_kind::changed)
            return run(claim, claim->machine.changed(ticket), later);
        failed(claim, ticket, status, later);
    });
}

// An exchange went before it, so the zxid of its creation is too small for a token.
void claims::stamp(const claim_ptr& claim, machine::ticket ticket, const line_listing& line) {
    using kind = session::operation::kind;
    servers_.transact({{.is = kind::set, .path = claim->line, .version = line.floor.version},
                       {.is = kind::set, .path = claim->node, .data = claim->data}},
                      [this, claim, ticket](const request_status& status, const std::string&, const node_stat& set) {
                          deferred_calls later;
                          const std::scoped_lock guard{mutex_};
                          if (status.ok()) {
                              claim->counter = set.changed;
                              if (claim->counter > largest_counter)
                                  return run(claim, claim->machine.changed(ticket), later);
                              return run(claim, claim->machine.stamped(ticket, claim->counter), later);
                          }
                          if (status == status_kind::no_node || status == status_kind::changed)
                              return run(claim, claim->machine.changed(ticket), later);
                          failed(claim, ticket, status, later);
                      });
}

void claims::remove(const claim_ptr& claim, machine::ticket ticket) {
    servers_.remove(claim->node, [this, claim, ticket](const request_status& status) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        const bool expired = status == status_kind::expired;
        if (!status.ok_or(status_kind::no_node) && !expired) return failed(claim, ticket, status, later);
        claim->node.clear();
        run(claim, claim->machine.removed(ticket, {.was_there = status.ok(), .lease_over = expired}), later);
    });
}

void claims::failed(const claim_ptr& claim, machine::ticket ticket, const request_status& status,
                    deferred_calls& later) {
    spi::claim_answer why{.is = claim_is::unknown, .reason = errc::unreachable};
    fate what = fate::not_done;
    switch (status.is) {
        case status_kind::denied:
            why = {.is = claim_is::refused,
                   .reason = errc::denied,
                   .detail = "the servers do not permit us to change " + base::quoted(claim->line) + " (" +
                             status.text() + "); give the user and password that created it"};
            break;
        case status_kind::refused:
            why = {.is = claim_is::refused,
                   .reason = errc::unsupported,
                   .detail = "the servers refuse the request: " + status.text()};
            break;
        default:
            if (status == status_kind::unsure) what = fate::unsure;
            if (status == status_kind::expired) {
                what = fate::lease_over;
                claim->node.clear();
            }
            why.detail = servers_.complaint(status);
            why.unreached = servers_.unreached(status);
    }
    run(claim, claim->machine.failed(ticket, what, why), later);
}

void claims::watch_leavers(const claim_ptr& claim, const line_listing& line) {
    for (const node_name& one : line.nodes) {
        const claim_ptr other = known(one.entry.id);
        if (other && other->machine.leaves()) watch(claim, one.entry.id, line);
    }
    retry_later(claim);
}

// Reported once, by node_changed(). If we may not read the node, the servers report nothing, and the claim looks again when the
// core asks.
void claims::watch(const claim_ptr& claim, const claim_id& other, const line_listing& line) {
    const node_name* found = line.find(other);
    if (found == nullptr) return;
    const std::string node = claim->line + "/" + found->name;
    const auto [first, last] = watches_.equal_range(node);
    if (std::any_of(first, last, [&](const auto& one) { return one.second == claim->entry.id; })) return;
    watches_.emplace(node, claim->entry.id);
    servers_.read(node, true, [this, node](const request_status& status, const std::string&, const node_stat&) {
        if (status == status_kind::no_node) return node_changed(node);  // it has just gone
        if (status.ok()) return;
        const std::scoped_lock guard{mutex_};
        watches_.erase(node);  // not watched; the claim looks again once there is a connection
    });
}

// Is the node of a hold still there? From now on its removal is reported.
void claims::watch_hold(const claim_ptr& claim) {
    claim->watched = true;
    watches_.emplace(claim->node, claim->entry.id);
    servers_.read(
        claim->node, true,
        [this, claim, node = claim->node](const request_status& status, const std::string&, const node_stat&) {
            deferred_calls later;
            const std::scoped_lock guard{mutex_};
            if (status.ok() || known(claim->entry.id) != claim) return;
            watches_.erase(node);
            claim->watched = false;  // checked again once there is a connection
            if (status == status_kind::no_node) run(claim, claim->machine.vanished(), later);
        });
}

// The client may keep these grants while nobody asks. Whether somebody does, each change of the line may say.
void claims::watch_kept(const std::string& line, std::vector<claim_id> kept) {
    for (const claim_id& id : kept) {
        watches_.emplace(line, id);
        if (const claim_ptr claim = known(id)) claim->looked = context_.clock.now();
    }
    keepers_.listen(line, [this, line, kept = std::move(kept)](const line_listing* now) {
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        for (const claim_id& id : kept) {
            const claim_ptr claim = known(id);
            if (claim && now != nullptr && !now->wanted_since(claim->counter)) continue;
            const auto [first, last] = watches_.equal_range(line);
            if (const auto it = std::find_if(first, last, [&](const auto& one) { return one.second == id; });
                it != last)
                watches_.erase(it);
            if (claim) tell_keeper(claim, later);
        }
    });
}

// Not too often: readers come and go, and all who keep a read look.
void claims::watch_kept_again(const std::string& line, std::vector<claim_id> kept) {
    spi::time_point next = context_.clock.now();
    for (const claim_id& id : kept)
        if (const claim_ptr claim = known(id)) next = std::max(next, claim->looked + between_looks);
    if (next <= context_.clock.now()) return watch_kept(line, std::move(kept));
    context_.clock.at(next, [this, line, kept = std::move(kept)]() mutable {
        if (closed_) return;
        const std::scoped_lock guard{mutex_};
        watch_kept(line, std::move(kept));
    });
}

void claims::tell_keeper(const claim_ptr& claim, deferred_calls& later) {
    if (claim->machine.holds()) later([this, claim] { context_.events.wanted(claim->name, claim->entry.id); });
}

// One request for each hold that lasts.
void claims::watch_holds_later() {
    if (std::exchange(watching_holds_, true)) return;
    context_.clock.at(context_.clock.now() + watch_after, [this] {
        if (closed_) return;
        const std::scoped_lock guard{mutex_};
        watching_holds_ = false;
        for (const auto& [id, claim] : claims_)
            if (claim->machine.holds() && !claim->watched) watch_hold(claim);
    });
}

void claims::retry_later(const claim_ptr& claim) {
    context_.clock.at(context_.clock.now() + between_retries, [this, id = claim->entry.id] {
        if (closed_) return;
        deferred_calls later;
        const std::scoped_lock guard{mutex_};
        if (const claim_ptr still = known(id)) run(still, still->machine.retry(), later);
    });
}

spi::grant claims::grant_of(node_claim& claim) {
    const auto lease = keepalive_.lease_for(claim.lease);
    if (claim.until == spi::time_point{}) {
        claim.until = lease.counted_from + lease.length;
        if (!claim.renewed)
            context_.clock.at(claim.until, [this, id = claim.entry.id] {
                if (closed_) return;
                deferred_calls later;
                const std::scoped_lock guard{mutex_};
                if (const claim_ptr over = known(id)) run(over, over->machine.expire(), later);
            });
    }
    return {.counter = claim.counter, .lease = lease.length, .counted_from = lease.counted_from};
}

void claims::expire_unrenewed(spi::time_point now) {
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    std::vector<claim_ptr> over;
    for (const auto& [id, claim] : claims_)
        if (claim->machine.holds() && claim->until < now) over.push_back(claim);
    for (const claim_ptr& claim : over) run(claim, claim->machine.expire(), later);
}

}  // namespace mortise::inline v0::stores::zookeeper
