// How a claim gets into its line. See desk.hpp for the picture.
#include "stores/etcd/answers.hpp"
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <limits>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using claim_verdict = spi::claim_answer::verdict;

// A lock that is fought over changes between reading and writing. After so many times, whoever asks decides.
constexpr int most_tries = 8;

// How long a claim of ours takes to leave, more or less.
constexpr std::chrono::milliseconds leaves_in{10};
constexpr std::chrono::milliseconds longest_leave{2000};
}  // namespace

// The least number that is free.
unsigned desk::take_slot(const std::string& name) {
    std::set<unsigned>& taken = slots_[name];
    unsigned n = 0;
    for (const unsigned each : taken)
        if (each == n) ++n;
    taken.insert(n);
    return n;
}

desk::record desk::record_of(const spi::claim_request& wanted) {
    std::scoped_lock guard{mutex_};
    record& known = claims_[wanted.id];
    if (!known) {
        known = std::make_shared<claim_record>();
        known->name = wanted.name;
        known->id = wanted.id;
        known->line_id = line_id_of(wanted.id);
        known->life = wanted.lease.value_or(std::chrono::seconds{30});
        known->renewed = wanted.renew == renew::on;
        known->detached = wanted.kept_by == kept_by::lease;
        known->own_lease = !known->renewed || known->detached || !keys_.native();
        if (keys_.native() && !known->detached) known->slot = take_slot(known->name);
        known->at = place_of(known->name, known->id, known->slot);
        known->mine = {.at = {.id = known->line_id,
                              .capacity = wanted.capacity,
                              .weight = wanted.weight,
                              .instead_of = wanted.instead_of},
                       .own_lease = known->own_lease,
                       .detached = known->detached,
                       .pid = around_.pid,
                       .host = around_.host,
                       .label = std::string(wanted.label)};
    }
    known->queue = wanted.queue;
    return known;
}

void desk::claim(const spi::claim_request& wanted, claimed done) {
    if (was_released(wanted.name, wanted.id)) return done({.is = claim_verdict::refused, .reason = errc::cancelled});
    enter(record_of(wanted), std::move(done));
}

// Nothing is asked any more for a claim that was released meanwhile.
members::made_late desk::while_wanted(const record& who, std::string request) {
    return [self = shared_from_this(), who, request = std::move(request)]() mutable -> std::optional<std::string> {
        std::scoped_lock guard{self->mutex_};
        if (who->is == claim_record::phase::over) return std::nullopt;
        return std::move(request);
    };
}

void desk::enter(const record& who, claimed done) {
    bool in_line = false;
    bool has_lease = false;
    bool queue = false;
    {
        std::scoped_lock guard{mutex_};
        in_line = who->entered;
        has_lease = who->on != nullptr;
        queue = who->queue;
        // The first request is answered. One more would only keep etcd from answering the others.
        if (!in_line && queue && who->to_enter > 0) return;
        if (in_line && who->asked_looks > 0 && !who->mine.at.to_be_exchanged()) return;
    }
    if (in_line) return peek(who, std::move(done));
    if (who->mine.at.to_be_exchanged()) return with_lease(who, entering::anyhow, 0, std::move(done));
    if (who->own_lease && !has_lease && !queue) return look_before_entering(who, 1, std::move(done));
    with_lease(who, queue ? entering::anyhow : entering::if_empty, 0, std::move(done));
}

// A lease of its own is not worth the trouble if somebody else holds the lock.
void desk::look_before_entering(const record& who, int tries, claimed done) {
    cluster_->ask_in_turn(method::txn, while_wanted(who, read_request(who->at.folder)), how_.timeout,
                          [self = shared_from_this(), who, tries, done = std::move(done)](
                              const outcome& said, const std::string& bytes) mutable {
                              const txn_said read =
                                  said.ok() ? read_txn(self->keys_, who->at.folder, bytes) : txn_said{};
                              if (!read.found) return done(said.ok() ? not_understood() : answer_of(said));
                              self->try_to_enter(who, *read.found, tries, std::move(done));
                          });
}

void desk::with_lease(const record& who, entering how, std::int64_t read_at, claimed done) {
    bool ready = false;
    {
        std::scoped_lock guard{mutex_};
        ready = who->on != nullptr;
    }
    if (ready) return send_entry(who, how, read_at, 0, std::move(done));
    auto then = [self = shared_from_this(), who, how, read_at, done = std::move(done)](
                    const outcome& said, const std::shared_ptr<lease>& given) mutable {
        if (!said.ok()) return done(answer_of(said));
        {
            std::scoped_lock guard{self->mutex_};
            if (!who->on) who->on = given;
        }
        self->send_entry(who, how, read_at, 0, std::move(done));
    };
    if (who->own_lease) return leases_->own(lease_of(who->id), who->life, std::move(then));
    leases_->share(who->life, std::move(then));
}

void desk::send_entry(const record& who, entering how, std::int64_t read_at, int tries, claimed done) {
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
        if (who->is != claim_record::phase::over && on)
            ++who->to_enter;
        else
            on.reset();
    }
    if (!on) return done({.is = claim_verdict::refused, .reason = errc::cancelled});  // released meanwhile
    const auto behind = std::make_shared<std::optional<claim_record::neighbour>>();
    cluster_->ask_in_turn(
        method::txn,
        [self = shared_from_this(), who, on, how, read_at, behind]() -> std::optional<std::string> {
            std::scoped_lock guard{self->mutex_};
            if (who->is == claim_record::phase::over) return std::nullopt;
            ++who->entering;
            if (how == entering::anyhow) *behind = self->tail_of(*who);
            if (*behind) return enter_behind_request(who->at, who->mine.value(), on->id, (*behind)->key);
            return enter_request(who->at, who->mine.value(), on->id, how, read_at);
        },
        how_.timeout,
        [self = shared_from_this(), who, on, how, tries, behind, done = std::move(done)](
            const outcome& said, const std::string& bytes) mutable {
            txn_said read;
            if (said.ok()) read = read_txn(self->keys_, who->at.folder, bytes);
            const bool understood = read.read && read.found;
            const entry* own = understood ? read.found->find(who->line_id) : nullptr;
            const bool in_line = own != nullptr || (understood && *behind && read.succeeded);
            bool over = false;
            {
                std::scoped_lock guard{self->mutex_};
                --who->to_enter;
                if (said.reason != errc::cancelled) --who->entering;
                if (said.is == outcome::verdict::unknown || (said.ok() && !understood)) who->in_doubt = true;
                if (in_line) who->entered = true;
                if (in_line)
                    who->arrived = own != nullptr ? own->at.arrived : static_cast<std::uint64_t>(read.revision);
                over = who->is == claim_record::phase::over;
                if (said.no_lease && who->on == on) {  // whatever else is late needs it too
                    who->on.reset();
                    who->in_doubt = false;
                }
            }
            if (over) return done({.is = claim_verdict::refused, .reason = errc::cancelled});
            if (said.no_lease) {  // it has ended: with another one, then
                self->leases_->forget(on);
                return done(
                    {.is = claim_verdict::unknown, .reason = errc::unreachable, .detail = "its lease has ended"});
            }
            if (!said.ok()) {
                if (said.is == outcome::verdict::refused) self->drop(who);
                return done(answer_of(said));
            }
            if (!understood) return done(not_understood());
            if (in_line && *behind) return self->entered_behind(who, **behind, read, std::move(done));
            if (in_line && how == entering::anyhow && !read.succeeded)  // an earlier request did it
                return self->look(who, extent::near, std::move(done));
            if (in_line) return self->conclude(who, *read.found, std::move(done));
            if (who->queue || who->mine.at.to_be_exchanged())  // marked as gone
                return done({.is = claim_verdict::refused, .reason = errc::cancelled});
            self->try_to_enter(who, *read.found, tries + 1, std::move(done));
        });
}

// The last of ours in a long line, if it waits: whoever comes now and admits no other waits at least as long. With the mutex held.
std::optional<claim_record::neighbour> desk::tail_of(const claim_record& who) {
    if (who.mine.at.weight != who.mine.at.capacity || who.mine.at.to_be_exchanged()) return std::nullopt;
    const auto it = tails_.find(who.name);
    if (it == tails_.end()) return std::nullopt;
    const record last = it->second.lock();
    if (last && last->is == claim_record::phase::waiting && last->mine.at.capacity == who.mine.at.capacity &&
        !last->neighbours.empty())
        return last->neighbours.front();
    tails_.erase(it);
    return std::nullopt;
}

// In a long line, which was not read.
void desk::entered_behind(const record& who, const claim_record::neighbour& tail, const txn_said& read, claimed done) {
    const entry* last = read.succeeded && !read.found->entries.empty() ? &read.found->entries.front() : nullptr;
    if (last == nullptr || last->at.arrived != tail.created) return look(who, extent::near, std::move(done));
    {
        std::scoped_lock guard{mutex_};
        who->seen_at = read.revision;
    }
    line near = *read.found;
    near.missing_before = true;
    base::line_verdict judged;
    judged.is = base::line_verdict::verdict::waits;
    judged.watch = {last->at.id};
    wait_in(who, near, judged, std::move(done));
}

// Claims of this client that are on their way out, and would not be in the way otherwise: a caller that gave up waiting may try
// again at once.
bool desk::only_we_are_in_the_way(const record& who, const line& found) {
    std::vector<base::line_entry> shape;
    {
        std::scoped_lock guard{mutex_};
        if (++who->waited_for_ourselves > longest_leave / leaves_in) return false;
        for (const entry& one : found.entries) {
            const auto ours = claims_.find(one.at.id);
            const bool leaving = ours != claims_.end() && ours->second->is == claim_record::phase::over;
            const bool left = ended_.contains({one.at.id, who->name});  // since this was read
            if (!leaving && !left) shape.push_back(one.at);
        }
    }
    base::line_entry mine = who->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    shape.push_back(mine);
    return base::judge(shape, mine.id, 0).is == base::line_verdict::verdict::holds;
}

// Would it hold at the end of this line? Then it enters, if nobody else has.
void desk::try_to_enter(const record& who, const line& found, int tries, claimed done) {
    auto shape = found.shape();
    base::line_entry mine = who->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    shape.push_back(mine);
    const base::line_verdict judged = base::judge(shape, mine.id, 0);
    using is = base::line_verdict::verdict;
    bool leased = false;
    {
        std::scoped_lock guard{mutex_};
        leased = who->on != nullptr;
    }
    if (judged.is == is::holds && !leased) return with_lease(who, entering::if_same, found.revision, std::move(done));
    if (judged.is == is::holds && tries < most_tries)
        return send_entry(who, entering::if_same, found.revision, tries, std::move(done));
    if (judged.is == is::holds)
        return done({.is = claim_verdict::unknown, .reason = errc::busy, .detail = "it is fought over"});
    if (judged.is == is::waits && only_we_are_in_the_way(who, found)) {
        around_.clock.at(
            around_.clock.now() + leaves_in, [weak = weak_from_this(), who, tries, done = std::move(done)]() mutable {
                if (const auto self = weak.lock())
                    self->cluster_->guarded([&] { self->look_before_entering(who, tries, std::move(done)); });
            });
        return;
    }
    spi::claim_answer no{.is = claim_verdict::busy, .standing = standing_of(found, judged)};
    if (judged.is == is::other_kind) no = of_another_kind(*who, judged);
    if (leased && who->own_lease) return withdraw(who, std::move(no), std::move(done));
    drop(who);
    done(std::move(no));
}
}  // namespace mortise::inline v0::stores::etcd
