#include "stores/zookeeper/claims.hpp"

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stores/zookeeper/holders.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using std::chrono::milliseconds;
using verdict = base::line_verdict::verdict;

// A hold that lasted so long is watched: short ones are not worth the request.
constexpr milliseconds watch_after{50};

constexpr milliseconds between_nudges{500};

// Tokens have room for 54 bits of it: 22 for the epoch of the leader, which rises with each election.
constexpr std::uint64_t most_counter = (std::uint64_t{1} << 54) - 1;

// What a claim is told that can never be granted as things are.
std::optional<spi::claim_answer> refusal_of(const entry& e, const base::line_verdict& said) {
    spi::claim_answer no{.is = spi::claim_answer::verdict::refused};
    switch (said.is) {
        case verdict::other_kind:
            no.reason = errc::kind_mismatch;
            no.detail = base::disagreement(said.capacity, e.capacity);
            return no;
        case verdict::lost:
            no.reason = errc::lost;
            return no;
        case verdict::would_deadlock:
            no.reason = errc::would_deadlock;
            return no;
        default:
            return std::nullopt;
    }
}

}  // namespace

entry_ptr claims::known(const claim_id& id) const {
    const auto it = entries_.find(id);
    return it != entries_.end() ? it->second : nullptr;
}

void claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    later say;
    const std::scoped_lock guard{mutex_};
    entry_ptr e = known(wanted.id);
    if (released_.contains(wanted.id) || (e && e->leaving)) {
        return say([done = std::move(done)]() mutable { done({.is = refused, .reason = errc::cancelled}); });
    }
    if (!e) {
        e = std::make_shared<entry>();
        e->name = wanted.name;
        e->line = names_.line(wanted.name);
        e->data = holder_record(around_.host, around_.pid, wanted.label);
        e->id = wanted.id;
        e->capacity = wanted.capacity;
        e->weight = wanted.weight;
        e->instead_of = wanted.instead_of;
        e->lease = wanted.lease;
        e->renewed = wanted.renew == mortise::renew::on;
        entries_.emplace(wanted.id, e);
    }
    e->queue = wanted.queue;
    e->asked.push_back(std::move(done));
    if (std::string no = names_.objection(e->name, line_entry_of(*e)); !no.empty())
        return step_back(e, {.is = refused, .reason = errc::unsupported, .detail = std::move(no)}, say);
    if (e->held) return answer(e, {.is = granted, .grant = grant_of(*e)}, say);
    if (e->looking) return nudge();
    proceed(e, say);
}

// Asked once more for what is under way. A server may oversleep a request until the next one comes (README.md); one is
// enough for all, and a slow server is not to be asked more and more.
void claims::nudge() {
    const spi::time_point now = around_.clock.now();
    if (now - nudged_ < between_nudges) return;
    nudged_ = now;
    servers_.sync([](const outcome&) {});
}

// What is next for a claim that nothing is under way for.
void claims::proceed(const entry_ptr& e, later& say) {
    e->again = false;
    if (e->leaving) {
        if (!e->node.empty()) return leave(e);
        if (e->unsure) return survey(e);
        return find_out_who_holds(e);
    }
    if (e->held) {
        if (!e->asked.empty()) answer(e, {.is = spi::claim_answer::verdict::granted, .grant = grant_of(*e)}, say);
        return;
    }
    if (!e->node.empty()) return look(e);
    if (e->unsure || !e->queue) return survey(e);
    enter(e);
}

// Reads a line, and sees what was asked of the servers before; `synced`: by anybody. One listing serves all who ask while
// another is under way: it is as long as the line, and a crowd must not ask for as many as it has heads.
void claims::list(const std::string& line, bool synced, listed then) {
    const auto [it, idle] = listings_.try_emplace(line);
    it->second.next.push_back(std::move(then));
    it->second.synced = it->second.synced || synced;
    if (idle) send_listing(line);
}

void claims::send_listing(const std::string& line) {
    listing& asked = listings_.at(line);
    const auto reached = std::make_shared<outcome>();
    if (std::exchange(asked.synced, false)) servers_.sync([reached](const outcome& how) { *reached = how; });
    servers_.children(line,
                      [this, line, reached, those = std::exchange(asked.next, {})](
                          const outcome& how, const std::vector<std::string>& names, const node_stat& about) mutable {
                          later say;
                          const std::scoped_lock guard{mutex_};
                          if (const auto it = listings_.find(line); it != listings_.end()) {
                              if (it->second.next.empty())
                                  listings_.erase(it);
                              else
                                  send_listing(line);
                          }
                          const line_seen seen{.nodes = names_.read_line(names), .floor = about};
                          for (listed& then : those) then(reached->ok() ? how : *reached, seen, say);
                      });
}

// Reads the line as it is now; one that is not there is empty.
void claims::read_line(const entry_ptr& e, unique_function<void(const outcome&, const line_seen&, later&)> then) {
    e->looking = true;
    list(e->line, true, [e, then = std::move(then)](const outcome& how, const line_seen& line, later& say) mutable {
        e->looking = false;
        then(how == outcome::kind::no_node ? outcome{} : how, line, say);
    });
}

// Whether a node of ours is in the line is then certain: the servers take no request any more that was sent on an earlier
// connection of this session.
void claims::survey(const entry_ptr& e) {
    read_line(e, [this, e](const outcome& how, const line_seen& line, later& say) {
        if (!how.ok()) return failed(e, how, say);
        if (const node_name* mine = line.find(e->id)) return adopt(e, e->line + "/" + mine->name);
        e->unsure = false;
        not_exchanged(e);
        if (e->leaving) return find_out_who_holds(e);
        if (e->queue) return enter(e);
        // Would it hold if it were there?
        base::line_entry last = line_entry_of(*e);
        for (const node_name& one : line.nodes) last.arrived = std::max(last.arrived, one.entry.arrived);
        ++last.arrived;
        line_seen with_it{.nodes = line.nodes};
        with_it.nodes.push_back({{}, last});
        with_it.verdicts = base::judged_line{entries_of(with_it.nodes)};
        const base::line_verdict said = with_it.verdicts.of(e->id);
        if (said.is == verdict::waits) return wait(e, said, with_it);
        if (auto no = refusal_of(*e, said)) return step_back(e, *std::move(no), say);
        enter(e);
    });
}

// A node of ours that we did not know of. One of an earlier session is about to go, and does not count.
void claims::adopt(const entry_ptr& e, const std::string& node) {
    e->looking = true;
    servers_.look(node, [this, e, node](const outcome& how, const node_stat& about) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (!how.ok() && how.is != outcome::kind::no_node) return failed(e, how, say);
        if (how.ok() && about.session == session_) {
            e->node = node;
            e->counter = about.counter();
            e->unsure = false;
            took_a_place(node) ? exchanged(e) : not_exchanged(e);
            return proceed(e, say);
        }
        e->looking = true;
        servers_.remove(node, [this, e](const outcome& gone) {
            later tell;
            const std::scoped_lock held{mutex_};
            e->looking = false;
            if (!gone.ok() && gone.is != outcome::kind::no_node) return failed(e, gone, tell);
            survey(e);
        });
    });
}

// Both requests at once: the second one sees what the first one did.
void claims::enter(const entry_ptr& e) {
    e->looking = true;
    const auto entered = std::make_shared<outcome>();
    servers_.create(e->line + "/" + names_.prefix(line_entry_of(*e)), e->data, session::kind::ephemeral_in_line,
                    [this, e, entered](const outcome& how, const std::string& node, const node_stat& about) {
                        *entered = how;
                        if (!how.ok()) return;
                        const std::scoped_lock guard{mutex_};
                        e->node = node;
                        e->counter = about.created;
                    });
    list(e->line, false, [this, e, entered](const outcome& how, const line_seen& line, later& say) {
        e->looking = false;
        if (*entered == outcome::kind::no_node) return make_parents(e);
        if (*entered == outcome::kind::unsure) e->unsure = true;
        if (!entered->ok()) return failed(e, *entered, say);
        if (!how.ok()) return failed(e, how, say);
        judge(e, line, say);
    });
}

// The root and what is above it stay; a line is a container, which the servers remove some time after the last node has gone.
void claims::make_parents(const entry_ptr& e) {
    e->looking = true;
    for (std::size_t at = e->line.find('/', 1); at != std::string::npos; at = e->line.find('/', at + 1))
        servers_.create(e->line.substr(0, at), {},
                        at <= how_.root.size() ? session::kind::lasting : session::kind::container,
                        [](const outcome&, const std::string&, const node_stat&) {});
    servers_.create(e->line, {}, session::kind::container,
                    [this, e](const outcome& how, const std::string&, const node_stat&) {
                        later say;
                        const std::scoped_lock guard{mutex_};
                        e->looking = false;
                        if (!how.ok() && how.is != outcome::kind::exists) return failed(e, how, say);
                        proceed(e, say);
                    });
}

void claims::look(const entry_ptr& e) {
    e->looking = true;
    list(e->line, false, [this, e](const outcome& how, const line_seen& line, later& say) {
        e->looking = false;
        if (how == outcome::kind::no_node) return vanished(e, say);
        if (!how.ok()) return failed(e, how, say);
        judge(e, line, say);
    });
}

void claims::judge(const entry_ptr& e, const line_seen& line, later& say) {
    if (e->leaving) return proceed(e, say);
    if (e->node.empty()) return failed(e, outcome::session_over(), say);  // since it was asked for
    const base::line_verdict said = line.verdicts.of(e->id);
    if (auto no = refusal_of(*e, said)) return step_back(e, *std::move(no), say);
    switch (said.is) {
        case verdict::holds:
            if (line.floor.version > 0 && line.floor.changed > e->counter) return stamp(e, line.floor);
            return grant(e, say);
        case verdict::may_exchange:
            return exchange(e, said, line.nodes, line.floor);
        case verdict::waits:
            return wait(e, said, line);
        default:
            return vanished(e, say);
    }
}

void claims::grant(const entry_ptr& e, later& say) {
    if (e->counter > most_counter)
        return step_back(e,
                         {.is = spi::claim_answer::verdict::refused,
                          .reason = errc::exhausted,
                          .detail = "the leader's epoch is over 4,194,303, too large for tokens"},
                         say);
    e->held = true;
    e->queued = false;
    const spi::grant given = grant_of(*e);
    e->until = given.counted_from + *given.lease;
    if (!e->renewed)
        around_.clock.at(e->until, [this, id = e->id] {
            if (closed_) return;
            const std::scoped_lock guard{mutex_};
            const entry_ptr over = known(id);
            if (over && over->held && !over->leaving) expire(over);
        });
    watch_holds_later();
    if (!e->asked.empty()) return answer(e, {.is = spi::claim_answer::verdict::granted, .grant = given}, say);
    say([this, e, given] { around_.events.granted(e->name, e->id, given); });
}

// As long as the session is known to last, or shorter if that was asked for.
spi::grant claims::grant_of(const entry& e) const {
    const spi::duration lease = std::min(e.lease.value_or(window_.lease()), window_.lease());
    return {
        .counter = e.counter, .lease = lease, .counted_from = std::min(around_.clock.now(), window_.until() - lease)};
}

// Not its turn: watches what has to go first, or goes away if it was not to wait.
void claims::wait(const entry_ptr& e, const base::line_verdict& said, const line_seen& line) {
    using enum spi::claim_answer::verdict;
    if (!e->queue &&
        only_leavers_before(e, line.nodes)) {  // they were told to go before it came: it looks again without them
        for (const node_name& one : line.nodes)
            if (is_leaving(one.entry.id)) watch(e, e->line + "/" + one.name);
        return;
    }
    if (e->queue)
        for (const claim_id& id : said.watch)
            if (const node_name* before = line.find(id)) watch(e, e->line + "/" + before->name);
    if (e->asked.empty()) return;
    e->looking = true;
    const node_name* first = said.holder ? line.find(*said.holder) : nullptr;
    others_.describe(first != nullptr ? e->line + "/" + first->name : std::string{},
                     [this, e, place = said.place](const outcome&, std::optional<holder> who) {
                         later say;
                         const std::scoped_lock guard{mutex_};
                         e->looking = false;
                         const spi::standing how{.holder = std::move(who), .place = place};
                         if (e->leaving) return proceed(e, say);
                         if (!e->queue) return step_back(e, {.is = busy, .standing = how}, say);
                         e->queued = true;
                         answer(e, {.is = queued, .standing = how}, say);
                         if (e->again) proceed(e, say);
                     });
}

bool claims::is_leaving(const claim_id& id) const {
    const entry_ptr e = known(id);
    return e && e->leaving;
}

// Whether it would not have to wait but for claims of ours that are on their way out.
bool claims::only_leavers_before(const entry_ptr& e, std::span<const node_name> line) const {
    std::vector<base::line_entry> rest = entries_of(line);
    std::erase_if(rest, [&](const base::line_entry& one) { return is_leaving(one.id); });
    return rest.size() < line.size() && base::judge(rest, e->id).is != verdict::waits;
}

// Told once, by touched(). What is watched already need not be asked for. Who may not read the node is told nothing by the
// servers, and looks again in its own time.
void claims::watch(const entry_ptr& e, const std::string& node) {
    const auto [first, last] = watches_.equal_range(node);
    if (std::any_of(first, last, [&](const auto& one) { return one.second == e->id; })) return;
    watches_.emplace(node, e->id);
    servers_.read(node, true, [this, node](const outcome& how, const std::string&, const node_stat&) {
        if (how == outcome::kind::no_node) return touched(node);  // it has gone meanwhile: look again
        if (how.ok()) return;
        const std::scoped_lock guard{mutex_};
        watches_.erase(node);  // nothing is watched; who waits looks again once there is a connection
    });
}

void claims::touched(const std::string& path) {
    if (closed_) return;
    later say;
    const std::scoped_lock guard{mutex_};
    std::vector<entry_ptr> who;
    const auto [first, last] = watches_.equal_range(path);
    for (auto it = first; it != last; ++it)
        if (const entry_ptr e = known(it->second)) who.push_back(e);
    watches_.erase(first, last);
    for (const entry_ptr& e : who) {
        if (e->leaving) continue;
        if (e->held) {
            confirm(e);
        } else if (e->looking) {
            e->again = true;
        } else {
            proceed(e, say);
        }
    }
}

// Is the node of a hold still there? And from now on, who removes it tells us.
void claims::confirm(const entry_ptr& e) {
    e->watched = true;
    watches_.emplace(e->node, e->id);
    servers_.read(e->node, true, [this, e](const outcome& how, const std::string&, const node_stat&) {
        later say;
        const std::scoped_lock guard{mutex_};
        if (how.ok() || known(e->id) != e) return;
        watches_.erase(e->node);
        e->watched = false;  // looked at again once there is a connection
        if (how == outcome::kind::no_node && e->held && !e->leaving && !e->being_replaced) vanished(e, say);
    });
}

// One request for each hold that lasts: it tells us if somebody removes the node.
void claims::watch_holds_later() {
    if (std::exchange(watching_holds_, true)) return;
    around_.clock.at(around_.clock.now() + watch_after, [this] {
        if (closed_) return;
        const std::scoped_lock guard{mutex_};
        watching_holds_ = false;
        for (const auto& [id, e] : entries_)
            if (e->held && !e->leaving && !e->watched) confirm(e);
    });
}

// The claim is not to be: its node goes, and then that is said.
void claims::step_back(const entry_ptr& e, spi::claim_answer because, later& say) {
    if (e->node.empty()) {
        answer(e, because, say);
        entries_.erase(e->id);
        return;
    }
    e->looking = true;
    servers_.remove(e->node, [this, e, because = std::move(because)](const outcome& how) {
        later tell;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (!how.ok() && how.is != outcome::kind::no_node) return failed(e, how, tell);
        e->node.clear();
        answer(e, because, tell);
        if (e->leaving) return proceed(e, tell);
        entries_.erase(e->id);
    });
}

// Its node is not there, and that is not our doing.
void claims::vanished(const entry_ptr& e, later& say) {
    const bool believed = e->held || e->queued;
    e->node.clear();
    if (e->leaving) return proceed(e, say);
    entries_.erase(e->id);
    answer(e, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    if (believed) say([this, e] { around_.events.lost(e->name, e->id); });
}

void claims::failed(const entry_ptr& e, const outcome& how, later& say) {
    using enum spi::claim_answer::verdict;
    if (how == outcome::kind::over) {
        e->node.clear();
        e->unsure = false;
    }
    auto asked = std::exchange(e->released, {});
    for (auto& one : asked) say([done = std::move(one)]() mutable { done(spi::release_answer::unknown); });
    if (how == outcome::kind::denied || how == outcome::kind::refused) {
        answer(e,
               {.is = refused,
                .reason = how == outcome::kind::denied ? errc::denied : errc::unsupported,
                .detail = how == outcome::kind::denied
                              ? "the servers do not let us change " + base::quoted(e->line) + " (" + how.text() +
                                    "); are user and password those that made it?"
                              : "the servers refuse it: " + how.text()},
               say);
        if (!e->leaving && e->node.empty()) entries_.erase(e->id);
        return;
    }
    answer(e,
           {.is = unknown,
            .reason = errc::unreachable,
            .detail = servers_.complaint(how),
            .unreached = servers_.unreached(how)},
           say);
}

void claims::answer(const entry_ptr& e, const spi::claim_answer& what, later& say) {
    auto asked = std::exchange(e->asked, {});
    for (auto& one : asked) say([done = std::move(one), what]() mutable { done(std::move(what)); });
}

}  // namespace mortise::inline v0::stores::zookeeper
