#include "stores/zookeeper/zookeeper_store.hpp"

#include "base/line.hpp"
#include "base/text.hpp"
#include "stores/zookeeper/checkup.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/holders.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/promised.hpp"
#include "stores/zookeeper/raw.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_window.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using verdict = base::line_verdict::verdict;

// How long the answer to a release is kept, for those who ask again.
constexpr seconds remembered_for{15};

// A hold that lasted so long is watched: short ones are not worth the request.
constexpr milliseconds watch_after{50};

// Tokens have room for 54 bits of it: 22 for the epoch of the leader, which rises with each election.
constexpr std::uint64_t most_counter = (std::uint64_t{1} << 54) - 1;

// What is said once no lock of the store's is held.
class later {
public:
    template <class What>
    void operator()(What&& what) {
        all_.emplace_back(std::forward<What>(what));
    }
    ~later() {
        for (auto& one : all_) one();
    }

private:
    std::vector<spi::task> all_;
};

// A claim of ours, from its first request to its last.
//
//   claim -> [survey] -> enter -> look ---> holds        A node is made at the end of the line, the line is read, and judged.
//               ^          ^       ^ |                    Survey: reads it first, for who does not wait, and for whom a reply
//               |          |       | v                    to `enter` was lost: the node may be there.
//               +-- lost --+      waits  (watches)
//
// `looking` says that requests are under way; what comes meanwhile is done after them (proceed).
struct entry {
    std::string name;
    std::string line;  // the path of its nodes' parent
    std::string data;
    claim_id id{};
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    claim_id instead_of{};
    std::optional<spi::duration> lease{};
    bool renewed = true;
    bool queue = false;

    std::string node{};         // its path; empty: there is none that we know of
    std::uint64_t counter = 0;  // of the node
    bool unsure = false;        // there may be one that we do not know of
    bool looking = false;
    bool again = false;  // something has changed since
    bool queued = false;
    bool held = false;
    bool watched = false;         // while it is held
    bool leaving = false;         // the node is to go
    bool being_replaced = false;  // perhaps: another claim of ours takes its place
    bool ended = false;           // by its lease, or by others
    bool removal_unsure = false;  // the node may be gone by our own doing
    spi::time_point until{};      // when it is held: nobody counts on it after
    std::vector<spi::reply<spi::claim_answer>> asked{};
    std::vector<spi::reply<spi::release_answer>> released{};
};
using entry_ptr = std::shared_ptr<entry>;

base::line_entry line_entry_of(const entry& e) {
    return {.id = e.id, .capacity = e.capacity, .weight = e.weight, .instead_of = e.instead_of};
}

// What a claim is told that can never be granted as things are.
std::optional<spi::claim_answer> refusal_of(const base::line_verdict& said) {
    spi::claim_answer no{.is = spi::claim_answer::verdict::refused};
    switch (said.is) {
        case verdict::other_kind:
            no.reason = errc::kind_mismatch;
            no.detail = "it is in use with a capacity of " + std::to_string(said.capacity);
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

class zookeeper_store final : public spi::store, private session::listener {
public:
    zookeeper_store(settings how, const spi::context& around)
        : how_(std::move(how)), around_(around), servers_(how_, around.clock, *this) {}
    ~zookeeper_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    void list(spi::reply<spi::listing>) override;
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void check(spi::reply<std::vector<finding>>) override;
    mortise::raw_limits raw_limits() const override { return bare_limits(how_); }
    void close() noexcept override;

private:
    void begun(std::int64_t id, spi::time_point asked, spi::duration timeout) override;
    void back(spi::duration timeout) override;
    void ended() override;
    void touched(const std::string& path) override;

    // With mutex_ held.
    void proceed(const entry_ptr& e, later& say);
    void survey(const entry_ptr& e);
    void enter(const entry_ptr& e);
    void make_parents(const entry_ptr& e);
    void adopt(const entry_ptr& e, const std::string& node);
    void look(const entry_ptr& e);
    void judge(const entry_ptr& e, std::span<const std::string> names, const node_stat& floor, later& say);
    void exchange(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line,
                  const node_stat& floor);
    void exchanged(const entry_ptr& e);
    void not_exchanged(const entry_ptr& e);
    void stamp(const entry_ptr& e, const node_stat& floor);
    void wait(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line);
    void watch(const entry_ptr& e, const std::string& node);
    void grant(const entry_ptr& e, later& say);
    void step_back(const entry_ptr& e, spi::claim_answer because, later& say);
    void vanished(const entry_ptr& e, later& say);
    void failed(const entry_ptr& e, const outcome& how, later& say);
    void answer(const entry_ptr& e, const spi::claim_answer& what, later& say);
    void leave(const entry_ptr& e);
    void left(const entry_ptr& e, spi::release_answer how, later& say);
    void find_out_who_holds(const entry_ptr& e);
    void release_another(const entry_ptr& e);
    void expire(const entry_ptr& e);
    void remember(const claim_id& id, spi::release_answer how);
    spi::grant grant_of(const entry& e) const;
    spi::claim_answer unreachable(const outcome& how) const;

    void describe(const std::string& node, unique_function<void(std::optional<holder>)> done);
    void beat();
    void beat_later();
    void watch_holds_later();
    bool took_a_place(std::string_view node) const {
        const auto read = names_.read(node.substr(node.rfind('/') + 1));
        return read && read->entry.place != 0;
    }
    entry_ptr known(const claim_id& id) const;

    const settings how_;
    const naming names_{how_.root, how_.protocol};
    const mortise::promises promised_ = promised_by(how_);
    const spi::context around_;
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    session_window window_;
    std::int64_t session_ = 0;  // 0: none
    spi::clock::timer_id beating_ = 0;
    bool watching_holds_ = false;
    std::optional<milliseconds> leader_ahead_{};  // of our clock, at least
    std::unordered_map<claim_id, entry_ptr> entries_;
    std::unordered_multimap<std::string, claim_id> watches_;  // node -> who waits for news of it
    struct memory {
        spi::release_answer how;
        spi::time_point until;
    };
    std::unordered_map<claim_id, memory> released_;
    spi::time_point tidied_{};

    session servers_;  // the last, so that its threads find all the others
};

entry_ptr zookeeper_store::known(const claim_id& id) const {
    const auto it = entries_.find(id);
    return it != entries_.end() ? it->second : nullptr;
}

void zookeeper_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
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
    if (!e->looking) proceed(e, say);
}

// What is next for a claim that nothing is under way for.
void zookeeper_store::proceed(const entry_ptr& e, later& say) {
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

// Reads the line as it is now. Whether a node of ours is in it is then certain: the servers take no request any more that was
// sent on an earlier connection of this session.
void zookeeper_store::survey(const entry_ptr& e) {
    e->looking = true;
    const auto reached = std::make_shared<outcome>();
    servers_.sync([reached](const outcome& how) { *reached = how; });
    servers_.children(e->line,
                      [this, e, reached](const outcome& how, const std::vector<std::string>& names, const node_stat&) {
                          later say;
                          const std::scoped_lock guard{mutex_};
                          e->looking = false;
                          if (!reached->ok()) return failed(e, *reached, say);
                          if (!how.ok() && how.is != outcome::kind::no_node) return failed(e, how, say);
                          std::vector<node_name> line = names_.read_line(names);
                          if (const node_name* mine = find(line, e->id)) return adopt(e, e->line + "/" + mine->name);
                          e->unsure = false;
                          not_exchanged(e);
                          if (e->leaving) return find_out_who_holds(e);
                          if (e->queue) return enter(e);
                          // Would it hold if it were there?
                          base::line_entry last = line_entry_of(*e);
                          for (const node_name& one : line) last.arrived = std::max(last.arrived, one.entry.arrived);
                          ++last.arrived;
                          line.push_back({{}, last});
                          const base::line_verdict said = base::judge(entries_of(line), e->id);
                          if (said.is == verdict::waits) return wait(e, said, line);
                          if (auto no = refusal_of(said)) return step_back(e, *std::move(no), say);
                          enter(e);
                      });
}

// A node of ours that we did not know of. One of an earlier session is about to go, and does not count.
void zookeeper_store::adopt(const entry_ptr& e, const std::string& node) {
    e->looking = true;
    servers_.look(node, false, [this, e, node](const outcome& how, const node_stat& about) {
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
void zookeeper_store::enter(const entry_ptr& e) {
    e->looking = true;
    const auto entered = std::make_shared<outcome>();
    servers_.create(e->line + "/" + names_.prefix(line_entry_of(*e)), e->data, session::kind::ephemeral_in_line,
                    [this, e, entered](const outcome& how, const std::string& node, const node_stat& about) {
                        *entered = how;
                        if (!how.ok()) return;
                        const auto now = around_.clock.now().time_since_epoch();
                        const std::scoped_lock guard{mutex_};
                        e->node = node;
                        e->counter = about.created;
                        leader_ahead_ = about.created_at - std::chrono::ceil<milliseconds>(now);
                    });
    servers_.children(
        e->line, [this, e, entered](const outcome& how, const std::vector<std::string>& names, const node_stat& about) {
            later say;
            const std::scoped_lock guard{mutex_};
            e->looking = false;
            if (*entered == outcome::kind::no_node) return make_parents(e);
            if (*entered == outcome::kind::unsure) e->unsure = true;
            if (!entered->ok()) return failed(e, *entered, say);
            if (!how.ok()) return failed(e, how, say);
            judge(e, names, about, say);
        });
}

// The root and what is above it stay; a line is a container, which the servers remove some time after the last node has gone.
void zookeeper_store::make_parents(const entry_ptr& e) {
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

void zookeeper_store::look(const entry_ptr& e) {
    e->looking = true;
    servers_.children(e->line,
                      [this, e](const outcome& how, const std::vector<std::string>& names, const node_stat& about) {
                          later say;
                          const std::scoped_lock guard{mutex_};
                          e->looking = false;
                          if (how == outcome::kind::no_node) return vanished(e, say);
                          if (!how.ok()) return failed(e, how, say);
                          judge(e, names, about, say);
                      });
}

void zookeeper_store::judge(const entry_ptr& e, std::span<const std::string> names, const node_stat& floor,
                            later& say) {
    if (e->leaving) return proceed(e, say);
    const std::vector<node_name> line = names_.read_line(names);
    const base::line_verdict said = base::judge(entries_of(line), e->id);
    if (auto no = refusal_of(said)) return step_back(e, *std::move(no), say);
    switch (said.is) {
        case verdict::holds:
            if (floor.version > 0 && floor.changed > e->counter) return stamp(e, floor);
            return grant(e, say);
        case verdict::may_exchange:
            return exchange(e, said, line, floor);
        case verdict::waits:
            return wait(e, said, line);
        default:
            return vanished(e, say);
    }
}

// Takes the old hold's place, if nobody has come to hold since the line was read.
void zookeeper_store::exchange(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line,
                               const node_stat& floor) {
    using kind = session::change::kind;
    const node_name* old = find(line, e->instead_of);
    std::vector<session::change> all{{.is = kind::set, .path = e->line, .version = floor.version}};
    for (const claim_id& id : said.guards) {
        const bool goes = id == e->id || id == e->instead_of;
        all.push_back({.is = goes ? kind::remove : kind::check, .path = e->line + "/" + find(line, id)->name});
    }
    all.push_back({.is = kind::create_in_line,
                   .path = e->line + "/" + names_.prefix(line_entry_of(*e), old->stands_at),
                   .data = e->data});
    if (const entry_ptr before = known(e->instead_of)) before->being_replaced = true;
    e->looking = true;
    servers_.change_all(std::move(all), [this, e](const outcome& how, const std::string& node, const node_stat& set) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (how.ok()) {
            e->node = node;
            e->counter = set.changed;  // the same transaction
            exchanged(e);
            return e->leaving ? proceed(e, say) : grant(e, say);
        }
        if (how == outcome::kind::unsure) {
            e->node.clear();  // it is one of two
            e->unsure = true;
            return failed(e, how, say);
        }
        not_exchanged(e);
        if (how == outcome::kind::denied || how == outcome::kind::over) return failed(e, how, say);
        proceed(e, say);
    });
}

// The old hold has become this one.
void zookeeper_store::exchanged(const entry_ptr& e) {
    const entry_ptr old = known(e->instead_of);
    if (!old) return;
    old->held = false;
    entries_.erase(old->id);
    remember(old->id, spi::release_answer::released);
}

// It is still the old one, if nothing else has happened to that meanwhile.
void zookeeper_store::not_exchanged(const entry_ptr& e) {
    const entry_ptr old = known(e->instead_of);
    if (!old || !std::exchange(old->being_replaced, false)) return;
    old->watched = false;
    watch_holds_later();
}

// An exchange went before it, so its own number is too small for a token.
void zookeeper_store::stamp(const entry_ptr& e, const node_stat& floor) {
    using kind = session::change::kind;
    e->looking = true;
    servers_.change_all(
        {{.is = kind::set, .path = e->line, .version = floor.version},
         {.is = kind::set, .path = e->node, .data = e->data}},
        [this, e](const outcome& how, const std::string&, const node_stat& set) {
            later say;
            const std::scoped_lock guard{mutex_};
            e->looking = false;
            if (how == outcome::kind::unsure || how == outcome::kind::over || how == outcome::kind::denied)
                return failed(e, how, say);
            if (!how.ok() || e->leaving) return proceed(e, say);
            e->counter = set.changed;
            grant(e, say);
        });
}

void zookeeper_store::grant(const entry_ptr& e, later& say) {
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
spi::grant zookeeper_store::grant_of(const entry& e) const {
    const spi::duration lease = std::min(e.lease.value_or(window_.lease()), window_.lease());
    return {
        .counter = e.counter, .lease = lease, .counted_from = std::min(around_.clock.now(), window_.until() - lease)};
}

// Not its turn: watches what has to go first, or goes away if it was not to wait.
void zookeeper_store::wait(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line) {
    using enum spi::claim_answer::verdict;
    if (e->queue)
        for (const claim_id& id : said.watch)
            if (const node_name* before = find(line, id)) watch(e, e->line + "/" + before->name);
    if (e->asked.empty()) return;
    e->looking = true;
    const node_name* first = said.holder ? find(line, *said.holder) : nullptr;
    describe(first != nullptr ? e->line + "/" + first->name : std::string{},
             [this, e, place = said.place](std::optional<holder> who) {
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

// Told once, by touched(). What is watched already need not be asked for.
void zookeeper_store::watch(const entry_ptr& e, const std::string& node) {
    const auto [first, last] = watches_.equal_range(node);
    if (std::any_of(first, last, [&](const auto& one) { return one.second == e->id; })) return;
    watches_.emplace(node, e->id);
    servers_.look(node, true, [this, node](const outcome& how, const node_stat&) {
        if (how == outcome::kind::no_node) return touched(node);  // it has gone meanwhile: look again
        if (how.ok()) return;
        const std::scoped_lock guard{mutex_};
        watches_.erase(node);  // nothing is watched; who waits looks again once there is a connection
    });
}

void zookeeper_store::touched(const std::string& path) {
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
        if (e->held && e->node == path) {
            e->watched = false;
            servers_.look(path, true, [this, e](const outcome& how, const node_stat&) {
                later tell;
                const std::scoped_lock held{mutex_};
                if (how == outcome::kind::no_node && e->held && !e->leaving && !e->being_replaced) vanished(e, tell);
            });
        } else if (e->looking) {
            e->again = true;
        } else {
            proceed(e, say);
        }
    }
}

// The claim is not to be: its node goes, and then that is said.
void zookeeper_store::step_back(const entry_ptr& e, spi::claim_answer because, later& say) {
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
void zookeeper_store::vanished(const entry_ptr& e, later& say) {
    const bool believed = e->held || e->queued;
    e->node.clear();
    if (e->leaving) return proceed(e, say);
    entries_.erase(e->id);
    answer(e, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    if (believed) say([this, e] { around_.events.lost(e->name, e->id); });
}

void zookeeper_store::failed(const entry_ptr& e, const outcome& how, later& say) {
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
    answer(e, unreachable(how), say);
}

spi::claim_answer zookeeper_store::unreachable(const outcome& how) const {
    const std::string trouble = servers_.trouble();
    return {.is = spi::claim_answer::verdict::unknown,
            .reason = errc::unreachable,
            .detail = trouble.empty() ? how.text() : trouble + " (" + how.text() + ")"};
}

void zookeeper_store::answer(const entry_ptr& e, const spi::claim_answer& what, later& say) {
    auto asked = std::exchange(e->asked, {});
    for (auto& one : asked) say([done = std::move(one), what]() mutable { done(std::move(what)); });
}

void zookeeper_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    later say;
    const std::scoped_lock guard{mutex_};
    if (const auto it = released_.find(id); it != released_.end())
        return say([done = std::move(done), how = it->second.how]() mutable { done(how); });
    entry_ptr e = known(id);
    if (!e) {
        e = std::make_shared<entry>();
        e->name = name;
        e->line = names_.line(name);
        e->id = id;
        e->released.push_back(std::move(done));
        return release_another(e);
    }
    e->released.push_back(std::move(done));
    e->leaving = true;
    if (!e->looking) proceed(e, say);
}

void zookeeper_store::leave(const entry_ptr& e) {
    e->looking = true;
    servers_.remove(e->node, [this, e](const outcome& how) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (how == outcome::kind::unsure) e->removal_unsure = true;
        if (how == outcome::kind::over || how == outcome::kind::no_node) {
            e->node.clear();
            if (how == outcome::kind::no_node && e->removal_unsure) return left(e, spi::release_answer::released, say);
            return find_out_who_holds(e);
        }
        if (!how.ok()) return failed(e, how, say);
        if (e->ended) return find_out_who_holds(e);
        left(e, spi::release_answer::released, say);
    });
}

// A release that came too late: has anybody taken the lock since?
void zookeeper_store::find_out_who_holds(const entry_ptr& e) {
    if (e->released.empty()) {
        entries_.erase(e->id);
        return;
    }
    e->looking = true;
    servers_.children(e->line, [this, e](const outcome& how, const std::vector<std::string>& names, const node_stat&) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (!how.ok() && how.is != outcome::kind::no_node) return failed(e, how, say);
        left(e, names_.read_line(names).empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
    });
}

// An id that is not ours: whoever made it, its node is to go.
void zookeeper_store::release_another(const entry_ptr& e) {
    e->leaving = true;
    e->unsure = true;
    entries_.emplace(e->id, e);
    e->looking = true;
    const auto reached = std::make_shared<outcome>();
    servers_.sync([reached](const outcome& how) { *reached = how; });
    servers_.children(e->line,
                      [this, e, reached](const outcome& how, const std::vector<std::string>& names, const node_stat&) {
                          later say;
                          const std::scoped_lock guard{mutex_};
                          e->looking = false;
                          if (!reached->ok() || (!how.ok() && how.is != outcome::kind::no_node)) {
                              failed(e, reached->ok() ? how : *reached, say);
                              entries_.erase(e->id);
                              return;
                          }
                          const std::vector<node_name> line = names_.read_line(names);
                          e->unsure = false;
                          if (const node_name* mine = find(line, e->id)) {
                              e->node = e->line + "/" + mine->name;
                              return leave(e);
                          }
                          left(e, line.empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
                      });
}

void zookeeper_store::left(const entry_ptr& e, spi::release_answer how, later& say) {
    entries_.erase(e->id);
    remember(e->id, how);
    answer(e, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    auto asked = std::exchange(e->released, {});
    for (auto& one : asked) say([done = std::move(one), how]() mutable { done(how); });
}

void zookeeper_store::remember(const claim_id& id, spi::release_answer how) {
    const spi::time_point now = around_.clock.now();
    if (now - tidied_ > remembered_for) {
        std::erase_if(released_, [&](const auto& one) { return one.second.until < now; });
        tidied_ = now;
    }
    released_.insert_or_assign(id, memory{how, now + remembered_for});
}

// Nobody counts on it any more.
void zookeeper_store::expire(const entry_ptr& e) {
    e->leaving = true;
    e->ended = true;
    if (!e->looking) leave(e);
}

void zookeeper_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    using enum spi::renewal_answer;
    std::vector<spi::renewal_answer> answers;
    answers.reserve(due.size());
    {
        const std::scoped_lock guard{mutex_};
        const spi::time_point now = around_.clock.now();
        for (const spi::renewal& one : due) {
            const entry_ptr e = known(one.id);
            if (!e || !e->held || e->leaving) {
                answers.push_back(e && e->leaving && !e->ended ? unknown : lost);
            } else if (window_.until() < now + one.lease) {
                answers.push_back(unknown);
            } else {
                e->until = std::max(e->until, now + one.lease);
                answers.push_back(renewed);
            }
        }
    }
    done(std::move(answers));
}

void zookeeper_store::begun(std::int64_t id, spi::time_point asked, spi::duration timeout) {
    {
        const std::scoped_lock guard{mutex_};
        session_ = id;
        window_.begin(asked, timeout);
    }
    if (!closed_) beat();
}

void zookeeper_store::back(spi::duration timeout) {
    if (closed_) return;
    {
        later say;
        const std::scoped_lock guard{mutex_};
        window_.go_on(timeout);
        std::vector<entry_ptr> all;
        for (const auto& [id, e] : entries_)
            if (e->leaving && !e->looking) all.push_back(e);
        for (const entry_ptr& e : all) proceed(e, say);
    }
    around_.events.doubtful();
}

// The servers have removed all our nodes.
void zookeeper_store::ended() {
    if (closed_) return;
    later say;
    const std::scoped_lock guard{mutex_};
    session_ = 0;
    window_.end();
    watches_.clear();
    std::vector<entry_ptr> all;
    for (const auto& [id, e] : entries_) all.push_back(e);
    for (const entry_ptr& e : all) {
        e->unsure = false;
        e->node.clear();
        if (e->looking) continue;
        if (e->held || e->queued || e->leaving) vanished(e, say);
    }
}

// Tells the servers that we live, and hears from the leader for how long they will believe it.
void zookeeper_store::beat() {
    const spi::time_point sent = around_.clock.now();
    servers_.sync([this, sent](const outcome& how) {
        if (!how.ok()) return;
        const std::scoped_lock guard{mutex_};
        window_.answered(sent);
    });
    const std::scoped_lock guard{mutex_};
    std::vector<entry_ptr> over;
    for (const auto& [id, e] : entries_)
        if (e->held && !e->leaving && e->until < sent) over.push_back(e);
    for (const entry_ptr& e : over) expire(e);
    beat_later();
}

void zookeeper_store::beat_later() {
    if (closed_ || session_ == 0) return;
    if (beating_ != 0) around_.clock.cancel(beating_);
    beating_ = around_.clock.at(around_.clock.now() + window_.beat(), [this] {
        if (!closed_) beat();
    });
}

// One request for each hold that lasts: it tells us if somebody removes the node.
void zookeeper_store::watch_holds_later() {
    if (std::exchange(watching_holds_, true)) return;
    around_.clock.at(around_.clock.now() + watch_after, [this] {
        if (closed_) return;
        const std::scoped_lock guard{mutex_};
        watching_holds_ = false;
        for (const auto& [id, e] : entries_)
            if (e->held && !e->leaving && !std::exchange(e->watched, true)) watch(e, e->node);
    });
}

void zookeeper_store::describe(const std::string& node, unique_function<void(std::optional<holder>)> done) {
    servers_.read(node.empty() ? "/" : node,
                  [this, node, done = std::move(done)](const outcome& how, const std::string& data,
                                                       const node_stat& about) mutable {
                      if (!how.ok() || node.empty()) return done(std::nullopt);
                      holder who = read_holder(data);
                      who.token = token::of(about.counter(), 0);
                      {
                          const std::scoped_lock guard{mutex_};
                          if (leader_ahead_) {
                              const auto now = std::chrono::floor<milliseconds>(around_.clock.now().time_since_epoch());
                              who.held_for = std::max(milliseconds{0}, now + *leader_ahead_ - about.created_at);
                          }
                      }
                      done(std::move(who));
                  });
}

void zookeeper_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    using enum spi::break_answer;
    struct search {
        spi::reply<spi::break_answer> done;
        std::size_t open = 1;
        bool found = false;
        void closed(bool sure = true) {
            if (!sure) found = true;
            if (!sure && done) std::exchange(done, nullptr)(unknown);
            if (--open == 0 && !found) std::exchange(done, nullptr)(not_held);
        }
    };
    const std::string line = names_.line(which.name);
    const auto all = std::make_shared<search>();
    all->done = std::move(done);
    servers_.sync([](const outcome&) {});
    servers_.children(line, [this, line, all, counter = which.counter](
                                const outcome& how, const std::vector<std::string>& names, const node_stat&) {
        if (!how.ok()) return all->closed(how == outcome::kind::no_node);
        const std::vector<node_name> nodes = names_.read_line(names);
        for (const node_name& one : holders_of(nodes)) {
            ++all->open;
            servers_.look(
                line + "/" + one.name, false,
                [this, all, counter, node = line + "/" + one.name](const outcome& is, const node_stat& about) {
                    if (!is.ok() || about.counter() != counter)
                        return all->closed(is.ok() || is.is == outcome::kind::no_node);
                    servers_.remove(node, [all](const outcome& gone) {
                        if (gone.ok() && all->done) {
                            all->found = true;
                            std::exchange(all->done, nullptr)(broken);
                        }
                        all->closed(gone.ok() || gone.is == outcome::kind::no_node);
                    });
                });
        }
        all->closed();
    });
}

// Goes through all lines: for people, not for programs in a hurry.
void zookeeper_store::list(spi::reply<spi::listing> done) {
    struct tour {
        spi::listing all;
        spi::reply<spi::listing> done;
        std::size_t open = 1;
        void closed() {
            if (--open > 0) return;
            std::stable_sort(all.holds.begin(), all.holds.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; });
            if (all.failed) all.holds.clear();
            done(std::move(all));
        }
        void fail(const outcome& how) {
            all.failed = how == outcome::kind::denied ? errc::denied : errc::unreachable;
            all.detail = how.text();
        }
    };
    const auto on = std::make_shared<tour>();
    on->done = std::move(done);
    servers_.sync([on](const outcome& how) {
        if (!how.ok()) on->fail(how);
    });
    servers_.children(
        how_.root.empty() ? "/" : how_.root,
        [this, on](const outcome& how, const std::vector<std::string>& names, const node_stat&) {
            if (!how.ok() && how.is != outcome::kind::no_node) on->fail(how);
            for (const std::string& part : names) {
                auto name = names_.name(part);
                if (!name) continue;
                ++on->open;
                const std::string line = how_.root + "/" + part;
                servers_.children(line, [this, on, line, name = std::move(*name)](
                                            const outcome& read, const std::vector<std::string>& in, const node_stat&) {
                    if (!read.ok() && read.is != outcome::kind::no_node) on->fail(read);
                    const std::vector<node_name> nodes = names_.read_line(in);
                    const std::vector<node_name> holds = holders_of(nodes);
                    for (const node_name& one : holds) {
                        ++on->open;
                        spi::listed shown{.name = name,
                                          .capacity = one.entry.capacity,
                                          .weight = one.entry.weight,
                                          .waiting = nodes.size() - holds.size()};
                        describe(line + "/" + one.name, [on, shown](std::optional<holder> who) mutable {
                            if (who) {  // else it has gone meanwhile
                                shown.holder = std::move(*who);
                                on->all.holds.push_back(std::move(shown));
                            }
                            on->closed();
                        });
                    }
                    on->closed();
                });
            }
            on->closed();
        });
}

void zookeeper_store::check(spi::reply<std::vector<finding>> done) {
    const spi::time_point sent = around_.clock.now();
    servers_.sync([this, sent, done = std::move(done)](const outcome& how) mutable {
        examination seen{.failed = how.ok() ? "" : unreachable(how).detail, .trip = around_.clock.now() - sent};
        {
            const std::scoped_lock guard{mutex_};
            if (session_ != 0) seen.session = window_.timeout();
        }
        servers_.aside([this, seen = std::move(seen), done = std::move(done)]() mutable {
            for (const std::string& one : each_server(how_.servers))
                seen.servers.emplace_back(one, read_facts(four_letters(one, "srvr")));
            done(findings_of(how_, seen));
        });
    });
}

void zookeeper_store::close() noexcept {
    if (closed_.exchange(true)) return;
    servers_.close();
    if (beating_ != 0) around_.clock.cancel(beating_);
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [how = settings::of(address)](const spi::context& around) {
        return std::make_unique<zookeeper_store>(how, around);
    };
}

}  // namespace mortise::inline v0::stores::zookeeper
