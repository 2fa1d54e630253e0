// Random histories of the claim table: calls join and leave, holds are upgraded and downgraded, a naive store of one lock with
// readers and writers answers late, out of order or not at all, leases end, a stranger takes part. Compared at every step with
// a naive model of one line:
//
//   - whoever is granted was first in line; turns of one claim are few, and tokens rise;
//   - whoever counts as a valid holder is one that the store has, or has exchanged for a claim that covers it;
//   - every call is answered once, and one that was cancelled hears that;
// and when everybody has left and the network is quiet: nothing waits, nothing is scheduled, and the store has none of ours.
//
// A failing history prints its seed; MORTISE_TEST_SEED=<seed> runs it alone. Claim ids are random even then, and with them the
// jitter of pauses.
#include "core/claim_table.hpp"
#include "support/seeds.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using verdict = spi::claim_answer::verdict;

// What a wrong table would do.
enum class table_flaw {
    none,
    forgets_to_release,     // a claim that nobody wants any more stays in the store's line
    trusts_the_last_reply,  // requests that were not answered are taken for never sent
    passes_on_for_ever,     // a grant goes from call to call without end
    serves_the_last_first,
    counts_from_the_reply,  // a lease begins when its reply arrives
    ignores_deadlines,      // holds are not looked at again
    // Of exchanges:
    believes_what_it_gave_up,  // the old hold counts while the new claim is released
    believes_a_downgraded_writer,
    believes_early_confirmations,  // that were asked for before the release of the new claim was answered
};

constexpr unsigned most_turns = 3;
constexpr spi::duration lease_life = 1s;

// What a claim takes of the lock.
constexpr std::uint32_t reader = 1, upgradeable = 2, writer = 3, all = 3;

// One lock with readers and writers, as simple as can be.
class naive_store {
public:
    struct pushed {
        claim_id id;
        std::optional<spi::grant> given;  // none: lost
    };
    struct wanted {
        claim_id id;
        std::uint32_t weight = writer;
        spi::duration life = lease_life;
        claim_id instead_of{};
    };

    spi::claim_answer claim(const wanted& one, bool queue, spi::time_point now) {
        if (ended_.contains(one.id)) return {.is = verdict::refused, .reason = errc::cancelled};
        expire(now);
        const bool exchanges = one.instead_of != claim_id{};
        const auto at = std::ranges::find(queue_, one.id, &wanted::id);
        const bool waits = at != queue_.end();
        if (holder(one.id) == nullptr && exchanges) {
            if (holder(one.instead_of) == nullptr) {
                if (waits) queue_.erase(at);
                return {.is = verdict::refused, .reason = errc::lost};
            }
            if (fits(one)) {
                if (waits) queue_.erase(at);
                hold(one, now);
                grant_next(now);
            } else if (!waits && !queue_.empty() && queue_.front().instead_of != claim_id{}) {
                return {.is = verdict::refused, .reason = errc::would_deadlock};
            }
        } else if (holder(one.id) == nullptr && (queue_.empty() || at == queue_.begin()) && fits(one)) {
            if (waits) queue_.erase(at);
            hold(one, now);
        }
        if (const held* mine = holder(one.id)) return {.is = verdict::granted, .grant = grant(*mine)};
        if (queue && !waits) queue_.insert(exchanges ? queue_.begin() : queue_.end(), one);
        if (!queue && waits) {
            queue_.erase(at);
            grant_next(now);
        }
        return {.is = queue ? verdict::queued : verdict::busy,
                .standing = {.free_in = holders_.empty() ? std::nullopt : std::optional{end() - now}}};
    }
    void release(const claim_id& id, spi::time_point now) {
        ended_.insert(id);
        expire(now);
        std::erase_if(queue_, [&](const wanted& one) { return one.id == id; });
        std::erase_if(holders_, [&](const held& one) { return one.of.id == id; });
        grant_next(now);
    }
    // Zero extends nothing.
    spi::renewal_answer renew(const claim_id& id, spi::duration life, spi::time_point now) {
        expire(now);
        held* mine = holder(id);
        if (mine == nullptr) return spi::renewal_answer::lost;
        mine->end = std::max(mine->end, now + life);
        return spi::renewal_answer::renewed;
    }
    void expire(spi::time_point now) {
        for (const held& one : holders_)
            if (now >= one.end) ended_.insert(one.of.id);
        if (std::erase_if(holders_, [&](const held& one) { return now >= one.end; }) > 0) grant_next(now);
    }
    // Whether it has the claim, or one that took its place and is no less.
    bool covers(const claim_id& id, std::uint32_t weight, spi::time_point now) const {
        return std::ranges::any_of(holders_, [&](const held& one) {
            return (one.of.id == id || one.of.instead_of == id) && one.of.weight >= weight && now < one.end;
        });
    }
    bool empty(const claim_id& but) const {
        return std::ranges::all_of(holders_, [&](const held& one) { return one.of.id == but; }) &&
               std::ranges::all_of(queue_, [&](const wanted& one) { return one.id == but; });
    }
    spi::time_point end() const {
        auto first = spi::time_point::max();
        for (const held& one : holders_) first = std::min(first, one.end);
        return first;
    }

    std::vector<pushed> pushes;  // to be delivered, or lost

private:
    struct held {
        wanted of;
        spi::time_point granted_at, end;
        std::uint64_t counter;
    };

    held* holder(const claim_id& id) {
        const auto at = std::ranges::find_if(holders_, [&](const held& one) { return one.of.id == id; });
        return at == holders_.end() ? nullptr : &*at;
    }
    bool fits(const wanted& one) const {
        std::uint32_t sum = one.weight;
        for (const held& each : holders_)
            if (each.of.id != one.instead_of) sum += each.of.weight;
        return sum <= all;
    }
    void hold(const wanted& one, spi::time_point now) {
        if (one.instead_of != claim_id{}) ended_.insert(one.instead_of);
        std::erase_if(holders_, [&](const held& each) { return each.of.id == one.instead_of; });
        holders_.push_back({one, now, now + one.life, ++counter_});
    }
    void grant_next(spi::time_point now) {
        while (!queue_.empty()) {
            const wanted first = queue_.front();
            const bool in_vain = first.instead_of != claim_id{} && holder(first.instead_of) == nullptr;
            if (!in_vain && !fits(first)) return;
            queue_.pop_front();
            if (in_vain) {
                ended_.insert(first.id);
                pushes.push_back({first.id, std::nullopt});
            } else {
                hold(first, now);
                pushes.push_back({first.id, grant(holders_.back())});
            }
        }
    }
    static spi::grant grant(const held& one) {
        return {.counter = one.counter, .lease = one.of.life, .counted_from = one.granted_at};
    }

    std::vector<held> holders_;
    std::uint64_t counter_ = 0;
    std::deque<wanted> queue_;
    std::set<claim_id> ended_;
};

class plain_schedule final : public schedule {
public:
    void look_by(spi::time_point due) override { next = std::min(next, due); }
    spi::time_point next = spi::time_point::max();
};

class no_events final : public event_sink {
public:
    void emit(event_kind, const std::string&, token, std::error_code, spi::duration) noexcept override {}
};

class table_history {
public:
    table_history(std::uint64_t seed, table_flaw flaw)
        : random_(seed), flaw_(flaw), losses_(pick(3)), often_(pick(2) == 0) {
        options_.label = "test";
        options_.hand_over_turns = flaw == table_flaw::passes_on_for_ever ? 1000 : most_turns;
        options_.patience = pick(2) == 0 ? 2s : 300ms;  // longer than a lease, or far shorter
        options_.reply_timeout = 200ms;
        options_.margin = 5ms;
        options_.drift = 0.01;
    }

    // A history that was convicted ends in the midst of things: a claim and the calls in its line own each other.
    ~table_history() {
        std::vector<claim_release> left;
        table_.close(now_, left);
    }

    std::optional<std::string> run() {
        for (int i = 0; i < (often_ ? 150 : 60) && !found_; ++i) {
            step();
            compare();
        }
        losses_ = 0;
        std::move(late_.begin(), late_.end(), std::back_inserter(messages_));
        for (const auto& one : calls_)
            if (one.call->is.load() == claimant::phase::waiting && pick(2) == 0) leave(one.call);
        for (int i = 0; i < 3000 && !found_ && !quiet(); ++i) {
            end_holds();
            store_.release(stranger_, now_);
            if (!messages_.empty()) {
                deliver(pick(messages_.size()));
            } else if (!store_.pushes.empty()) {
                push();
            } else {
                pass_time(1s);
            }
            compare();
        }
        if (!found_) look_at_the_end();
        return found_;
    }

    std::uint64_t grants = 0, turns = 0, losses = 0, refusals = 0, exchanges = 0, settled = 0;

private:
    struct message {
        enum class kind {
            claim,
            claim_reply,
            release,
            release_reply,
            renewal,
            renewal_reply,
            confirmation,
            confirmation_reply
        } is;
        std::shared_ptr<cohort> c;
        spi::time_point sent{};
        bool queue = false;
        spi::claim_answer answer{};
        spi::renewal_answer renewed{};
        release_log::ticket ticket{};
        bool settles = false;
    };
    struct one_call {
        std::shared_ptr<claimant> call;
        bool shareable = false;
        std::uint32_t weight = writer;
        bool exchanges = false;
        bool cancelled = false;
        int answers = 0;
    };

    void step() {
        if (often_ && pick(4) != 0) return step_of_exchanges();
        switch (pick(12)) {
            case 0:
            case 1:
                return join();
            case 2:
                if (!calls_.empty()) leave(calls_[pick(calls_.size())].call);
                return;
            case 3:
            case 4:
                if (!calls_.empty()) end_hold(calls_[pick(calls_.size())].call);
                return;
            case 5:
                return stranger_acts();
            case 6:
                return pass_time(spi::duration{pick(400'000'000)});
            case 7:
                return pass_time(10s);
            case 8:
                return push();
            default:
                if (!messages_.empty()) deliver(pick(messages_.size()));
        }
    }

    // Little time passes, so that they are given up before the leases end.
    void step_of_exchanges() {
        switch (pick(12)) {
            case 0:
            case 1:
                return exchange();
            case 2:
            case 3:
            case 4:
                return pass_time(spi::duration{pick(100'000'000)});
            case 5:
                if (late_.empty()) return;
                messages_.push_back(std::move(late_.front()));
                late_.pop_front();
                return arrive(messages_.size() - 1);
            default:
                if (!messages_.empty()) deliver(pick(messages_.size()));
        }
    }

    one_call make_call(std::uint32_t weight, bool shareable) {
        one_call one{std::make_shared<claimant>(), shareable, weight};
        one.call->since = now_;
        one.call->waiting = std::make_unique<claimant::wait>();
        one.call->waiting->no_wait = pick(4) == 0;
        if (pick(4) == 0) one.call->waiting->deadline = now_ + 700ms;
        return one;
    }
    claim_terms terms_of(const one_call& one) {
        claim_terms terms;
        terms.name = "door";
        terms.name_hash = std::hash<std::string_view>{}(terms.name);
        terms.label = label_;
        terms.lease = lease_life;
        terms.capacity = all;
        terms.weight = one.weight;
        terms.shareable = one.shareable;
        return terms;
    }
    void join() {
        const bool shareable = often_ ? pick(4) == 0 : pick(4) != 0;
        const one_call one = make_call(shareable ? writer : static_cast<std::uint32_t>(pick(all) + 1), shareable);
        calls_.push_back(one);
        actions todo;
        if (table_.join(std::shared_ptr(one.call), std::make_shared<claim_terms>(terms_of(one)), nullptr, nullptr, now_,
                        todo))
            found_ = "an open table lets nobody in";
        if (one.shareable && one.call->is.load() == claimant::phase::waiting) {
            model_line_.push_back(one.call.get());
            if (flaw_ == table_flaw::serves_the_last_first) {
                call_queue& line = one.call->cohort->line;
                line.splice(line.begin(), line, one.call->waiting->place);
            }
        }
        run(std::move(todo));
    }
    // Up from an upgradeable hold, down from what is more than a reader.
    void exchange() {
        std::vector<one_call> held_now;
        for (const auto& one : calls_)
            if (one.call->is.load() == claimant::phase::holding && one.weight != reader) held_now.push_back(one);
        if (held_now.empty()) return;
        const one_call old = held_now[pick(held_now.size())];
        const std::shared_ptr<claimant> held = old.call;
        const std::uint32_t weight = old.weight == writer ? static_cast<std::uint32_t>(pick(2) + 1)
                                     : pick(3) == 0       ? reader
                                                          : writer;
        one_call one = make_call(weight, false);
        one.exchanges = true;
        claim_terms terms = terms_of(one);
        if (pick(4) == 0) terms.lease = lease_life / 2;
        calls_.push_back(one);
        actions todo;
        if (const auto no = table_.join(std::shared_ptr(one.call), std::make_shared<claim_terms>(terms), nullptr,
                                        held.get(), now_, todo)) {
            if (one.call->is.load() != claimant::phase::over) found_ = "refused, and not over";
            return answered(*one.call);
        }
        ++exchanges;
        if (flaw_ == table_flaw::believes_a_downgraded_writer) held->cohort->trust();
        run(std::move(todo));
    }
    void leave(const std::shared_ptr<claimant>& call) {
        if (call->is.load() == claimant::phase::waiting) of(*call).cancelled = true;
        run(table_.leave(call, std::hash<std::string_view>{}("door"), errc::cancelled, {}, now_));
    }
    void end_hold(const std::shared_ptr<claimant>& call) {
        if (call->is.load() != claimant::phase::holding) return;
        auto left = table_.release(call, now_);
        if (left.silent) found_ = "a hold could not be released";
        if (left.todo.granted) ++turns;
        run(std::move(left.todo));
    }
    void end_holds() {
        for (std::size_t i = 0; i < calls_.size(); ++i) end_hold(calls_[i].call);
    }
    void stranger_acts() {
        if (pick(2) == 0) {
            store_.release(stranger_, now_);
            stranger_ = claim_id{{pick(1u << 30), 7}};
        } else {
            store_.claim({.id = stranger_, .weight = pick(2) == 0 ? reader : writer}, true, now_);
        }
    }
    // To the next thing that is due, if that is sooner.
    void pass_time(spi::duration most) {
        const auto next = std::min({now_ + most, schedule_.next, store_.end()});
        now_ = std::max(now_ + 1ns, next);
        store_.expire(now_);
        if (now_ >= schedule_.next) {
            look();
        } else if (!table_.due(now_).claims.empty()) {
            found_ = "it is due, and the schedule was not told";
        }
        compare();
        for (const auto& one : calls_)
            if (one.call->is.load() == claimant::phase::waiting && one.call->waiting->deadline <= now_) {
                run(table_.leave(one.call, std::hash<std::string_view>{}("door"), errc::timed_out, {}, now_));
                return;
            }
    }
    void look() {
        const claim_table::looks found = table_.due(now_);
        schedule_.next = found.next;
        for (const auto& c : found.claims) {
            if (flaw_ == table_flaw::ignores_deadlines && c->is == cohort::state::held) {
                c->valid_until = spi::time_point::max();
                continue;
            }
            actions todo;
            if (table_.look(c, now_, todo)) messages_.push_back({.is = message::kind::renewal, .c = c, .sent = now_});
            run(std::move(todo));
        }
    }
    void push() {
        if (store_.pushes.empty()) return;
        const auto one = store_.pushes.back();
        store_.pushes.pop_back();
        if (lost() || one.id == stranger_) return;
        if (!one.given) return run(table_.lost("door", one.id, now_));
        actions todo;
        if (table_.granted("door", one.id, *one.given, now_, todo)) return run(std::move(todo));
        store_.release(one.id, now_);  // nobody waits for it: given back
    }

    void run(actions&& todo) {
        if (todo.release.settles && flaw_ == table_flaw::believes_what_it_gave_up)
            todo.release.claim->instead_of->trust();
        if (todo.release.claim && flaw_ != table_flaw::forgets_to_release)
            messages_.push_back({.is = message::kind::release,
                                 .c = std::move(todo.release.claim),
                                 .ticket = std::move(todo.release.ticket),
                                 .settles = todo.release.settles});
        if (todo.granted) granted(*todo.granted);
        for (const auto& [call, why] : todo.refused) refused(*call, why);
        if (todo.lost) ++losses;
        if (todo.confirm)
            messages_.push_back({.is = message::kind::confirmation, .c = std::move(todo.confirm), .sent = now_});
        if (todo.ask) ask(todo.ask, todo.request);
    }
    void ask(const std::shared_ptr<cohort>& c, std::optional<spi::claim_request> wanted) {
        if (!wanted) wanted = table_.request(*c, now_);
        if (!wanted) return;
        if (wanted->id != c->id || wanted->name != "door" || wanted->lease != c->terms.lease)
            found_ = "asks for another";
        messages_.push_back({.is = message::kind::claim, .c = c, .sent = now_, .queue = wanted->queue});
        if (pick(3) == 0) {  // a store that answers before its verb returns
            deliver(messages_.size() - 1);
            if (!messages_.empty() && messages_.back().is == message::kind::claim_reply) deliver(messages_.size() - 1);
        }
        c->calling = false;
        table_.requested(c, now_ + options_.reply_timeout);
    }
    bool lost() { return losses_ > 0 && pick(8) < losses_; }

    void deliver(std::size_t which) {
        message& one = messages_[which];
        const bool exchange = one.is == message::kind::claim && one.c->instead_of;
        if (!exchange || !often_ || losses_ == 0 || pick(3) == 0) return arrive(which);
        late_.push_back(std::move(one));
        messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    void arrive(std::size_t which) {
        message one = std::move(messages_[which]);
        messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
        const bool repeated = one.is == message::kind::release || one.is == message::kind::release_reply;
        if (!repeated && lost()) return;
        const claim_id id = one.c->id;
        switch (one.is) {
            case message::kind::claim:
                one.answer = store_.claim({.id = id,
                                           .weight = one.c->terms.weight,
                                           .life = *one.c->terms.lease,
                                           .instead_of = one.c->instead_of ? one.c->instead_of->id : claim_id{}},
                                          one.queue, now_);
                one.is = message::kind::claim_reply;
                if (lost() && pick(2) == 0) one.answer = {.is = verdict::unknown};
                messages_.push_back(std::move(one));
                return;
            case message::kind::claim_reply:
                if (flaw_ == table_flaw::trusts_the_last_reply && one.c->asked) one.c->asked->unanswered = 0;
                if (flaw_ == table_flaw::counts_from_the_reply) one.sent = one.answer.grant.counted_from = now_;
                return run(table_.answered(one.c, one.sent, one.queue, std::move(one.answer), now_));
            case message::kind::release:
                store_.release(id, now_);
                if (!one.settles) return;
                one.is = message::kind::release_reply;
                messages_.push_back(std::move(one));
                return;
            case message::kind::release_reply:
                ++settled;
                return table_.left(one.c, now_);
            case message::kind::confirmation:
                one.renewed = store_.renew(id, 0s, now_);
                one.is = message::kind::confirmation_reply;
                messages_.push_back(std::move(one));
                return;
            case message::kind::confirmation_reply:
                if (const auto by = one.c->replaced_by.lock();
                    by && by->asked && flaw_ == table_flaw::believes_early_confirmations)
                    by->asked->left = {};
                return run(table_.confirmed(one.c, one.renewed, one.sent, now_));
            case message::kind::renewal:
                one.renewed = store_.renew(id, *one.c->lease.life(), now_);
                one.is = message::kind::renewal_reply;
                messages_.push_back(std::move(one));
                return;
            case message::kind::renewal_reply:
                return run(table_.renewed(one.c, one.renewed, one.sent, now_));
        }
    }

    one_call& of(const claimant& call) {
        return *std::find_if(calls_.begin(), calls_.end(), [&](const auto& one) { return one.call.get() == &call; });
    }
    void answered(claimant& call) {
        if (++of(call).answers > 1) found_ = "a call is answered twice";
        call.waiting.reset();
    }
    void granted(claimant& call) {
        ++grants;
        answered(call);
        if (of(call).shareable) {
            // Those who left are not in the model's line any more.
            if (model_line_.empty() || model_line_.front() != &call) {
                if (std::find(model_line_.begin(), model_line_.end(), &call) != model_line_.end())
                    found_ = "granted out of turn";
            }
            std::erase(model_line_, &call);
        }
        if (call.turn >= most_turns) found_ = "too many turns with one claim";
        // Readers may hear of their grants in any order.
        const bool alone = of(call).weight == writer;
        if (call.token() <= (alone ? last_token_ : last_written_)) found_ = "a token does not rise";
        last_token_ = std::max(last_token_, call.token());
        if (alone) last_written_ = call.token();
        if (call.is.load() != claimant::phase::holding) found_ = "granted, and does not hold";
    }
    void refused(claimant& call, const refusal& why) {
        ++refusals;
        if (of(call).cancelled && !of(call).exchanges && why.reason != errc::cancelled)
            found_ = "cancelled, and told another reason";
        if (!of(call).cancelled && why.reason == errc::cancelled) found_ = "told that it was cancelled";
        std::erase(model_line_, &call);
        answered(call);
        if (call.is.load() != claimant::phase::over) found_ = "refused, and not over";
    }

    void compare() {
        std::uint32_t valid = 0;
        for (const auto& one : calls_) {
            if (one.call->is.load() != claimant::phase::holding) continue;
            const cohort& c = *one.call->cohort;
            if (now_ >= c.valid_until.load()) continue;
            valid += one.weight;
            if (!store_.covers(c.id, one.weight, now_)) found_ = "a valid holder that the store does not have";
        }
        if (valid > all) found_ = "too many valid holders";
    }
    bool quiet() {
        bool all_over = messages_.empty() && store_.pushes.empty() && schedule_.next == spi::time_point::max();
        for (const auto& one : calls_) all_over = all_over && one.call->is.load() == claimant::phase::over;
        return all_over;
    }
    void look_at_the_end() {
        if (!quiet()) found_ = "it does not come to rest";
        for (const auto& one : calls_)
            if (one.answers != 1) found_ = "a call was not answered";
        if (!store_.empty(stranger_)) found_ = "a claim stayed behind at the store";
        table_.each([&](const auto&) { found_ = "a claim stayed behind in the table"; });
        if (!releases_.wait_until_empty(0s)) found_ = "a release is not accounted for";
    }
    std::uint64_t pick(std::uint64_t n) { return random_() % n; }

    std::mt19937_64 random_;
    const table_flaw flaw_;
    std::uint64_t losses_;  // how bad the network is
    const bool often_;      // holds are exchanged
    spi::time_point now_{1h};
    client_options options_;
    mortise::promises promises_{.store = "naive", .leases = true};
    const std::shared_ptr<const std::string> label_ = std::make_shared<const std::string>("test");

    no_events events_;
    plain_schedule schedule_;
    release_log releases_;
    claim_policy policy_ = [this] {
        options_.label = "test";
        return claim_policy{options_, promises_, "naive:"};
    }();
    claim_table table_{policy_, {"here", 1}, events_, schedule_, releases_};

    naive_store store_;
    claim_id stranger_{{1, 7}};
    std::vector<one_call> calls_;
    std::vector<claimant*> model_line_;
    std::vector<message> messages_;
    std::deque<message> late_;  // requests of exchanges, which other messages overtake
    token last_token_{}, last_written_{};
    std::optional<std::string> found_;
};

struct table_tally {
    std::optional<std::string> found{};
    std::uint64_t grants = 0, turns = 0, losses = 0, refusals = 0, exchanges = 0, settled = 0;
};

table_tally run_table_histories(std::uint64_t histories, table_flaw flaw) {
    table_tally sums;
    sums.found = testing::first_complaint(histories, [&](std::uint64_t seed) {
        table_history one(seed, flaw);
        const auto found = one.run();
        sums.grants += one.grants;
        sums.turns += one.turns;
        sums.losses += one.losses;
        sums.refusals += one.refusals;
        sums.exchanges += one.exchanges;
        sums.settled += one.settled;
        return found;
    });
    return sums;
}

TEST(claim_table_histories, agree_with_a_naive_model) {
    const table_tally sums = run_table_histories(testing::scale(100'000), table_flaw::none);
    EXPECT_FALSE(sums.found) << *sums.found;
    std::cout << "grants=" << sums.grants << " turns=" << sums.turns << " losses=" << sums.losses
              << " refusals=" << sums.refusals << " exchanges=" << sums.exchanges << " settled=" << sums.settled
              << '\n';
    if (!testing::lone_seed()) {
        EXPECT_GT(sums.turns, 10u);
        EXPECT_GT(sums.losses, 10u);
        EXPECT_GT(sums.refusals, 10u);
        EXPECT_GT(sums.exchanges, 10u);
        EXPECT_GT(sums.settled, 10u);
    }
}

class flawed_claim_table : public ::testing::TestWithParam<table_flaw> {};

TEST_P(flawed_claim_table, is_convicted) {
    const auto found = run_table_histories(100'000, GetParam()).found;
    EXPECT_TRUE(found);
    if (found) std::cout << *found << '\n';
}

INSTANTIATE_TEST_SUITE_P(every, flawed_claim_table,
                         ::testing::Values(table_flaw::forgets_to_release, table_flaw::trusts_the_last_reply,
                                           table_flaw::passes_on_for_ever, table_flaw::serves_the_last_first,
                                           table_flaw::counts_from_the_reply, table_flaw::ignores_deadlines,
                                           table_flaw::believes_what_it_gave_up,
                                           table_flaw::believes_a_downgraded_writer,
                                           table_flaw::believes_early_confirmations));

}  // namespace
}  // namespace mortise::core
