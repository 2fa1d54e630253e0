// The store of spi::quorum_of. Each request is a round: it goes to all nodes at once, and ends when its result is certain or the
// nodes' time is up. What the answers mean, base/quorum_vote.hpp decides.
#include "base/ended_claims.hpp"
#include "base/quorum_node.hpp"
#include "base/quorum_promises.hpp"
#include "base/quorum_vote.hpp"
#include "base/text.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/quorum.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::base {
namespace {

// A request to all nodes that has not ended. Under the store's mutex.
struct quorum_round {
    virtual ~quorum_round() = default;
    // The nodes' time is up. Answers what to do, with no mutex held.
    virtual spi::task expire(spi::time_point now) = 0;

    bool open() const noexcept { return place.has_value(); }

    std::optional<std::multimap<spi::time_point, std::shared_ptr<quorum_round>>::iterator> place{};
};

class quorum_store final : public spi::store {
public:
    quorum_store(const std::vector<spi::quorum_node>& nodes, const spi::quorum_options& options,
                 const spi::context& context);
    ~quorum_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override;
    void list(spi::reply<spi::listing> done) override { done({.failed = errc::unsupported}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);
    }
    void check(spi::reply<std::vector<finding>>) override;
    std::string schema() const override { return nodes_.front()->store().schema(); }
    void close() noexcept override;

private:
    struct claim_round;
    struct renewal_round;
    struct release_round;
    using lock = std::unique_lock<std::mutex>;

    // What the core knows by its id. The nodes know each attempt by a value of its own: one that has failed may still arrive
    // late, after its release, and must then be nobody's.
    struct entry {
        std::string name;
        claim_id value;
        spi::duration lease{};
        bool granted = false;
        std::shared_ptr<claim_round> claiming{};
        std::shared_ptr<release_round> releasing{};
    };

    // With the mutex held.
    void begin(const std::shared_ptr<quorum_round>& round, spi::time_point deadline);
    void end(quorum_round& round);
    spi::task conclude(claim_round& round);
    spi::task conclude(renewal_round& round);
    spi::task conclude(release_round& round);
    void forget_unsure(spi::time_point now);

    void watch_deadlines();
    void expire_rounds();
    void answered(const std::shared_ptr<claim_round>& round, std::size_t node, node_vote vote);
    void answered(const std::shared_ptr<renewal_round>& round, std::size_t node,
                  const std::vector<spi::renewal_answer>& answers);
    void answered(const std::shared_ptr<release_round>& round, std::size_t node, spi::release_answer answer);
    spi::claim_answer answer_of(const claim_round& round, spi::time_point now) const;
    void release_at(const std::vector<std::size_t>& places, const std::string& name, const claim_id& value,
                    spi::duration lease);
    spi::duration time_for(spi::duration lease) const { return std::min(options_.node_timeout, lease / 5); }

    const spi::quorum_options options_;
    const spi::context context_;
    std::vector<std::unique_ptr<quorum_node>> nodes_;
    mortise::promises promises_;
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    std::unordered_map<claim_id, entry> entries_;
    std::multimap<spi::time_point, std::shared_ptr<quorum_round>> open_;  // by deadline
    std::optional<spi::time_point> next_look_;                            // for which there is a timer
    ended_claims<1024> ended_;                                            // released: the latest
    std::deque<std::pair<spi::time_point, claim_id>> unsure_;             // releases without an answer
    std::shared_ptr<int> alive_ = std::make_shared<int>();                // timers look
};

struct quorum_store::claim_round final : quorum_round {
    claim_round(quorum_store& in, const claim_id& which, const quorum_vote::rules& rules, spi::time_point now)
        : store(in), id(which), vote(rules, now), asked(rules.nodes), seen(rules.nodes) {}
    spi::task expire(spi::time_point now) override {
        vote.poll(now);
        return store.conclude(*this);
    }

    quorum_store& store;
    const claim_id id;
    quorum_vote vote;
    std::vector<char> asked;
    std::vector<node_vote> seen;
    std::vector<spi::reply<spi::claim_answer>> replies;
};

struct quorum_store::renewal_round final : quorum_round {
    struct one {
        std::string name;
        claim_id id;       // the core's
        claim_id value{};  // the nodes'
        spi::duration lease{};
        bool known = false;
        std::size_t renewed = 0;
        std::size_t lost = 0;
        std::vector<std::size_t> lost_at{};
    };

    renewal_round(quorum_store& in, spi::reply<std::vector<spi::renewal_answer>> then)
        : store(in), done(std::move(then)) {}
    spi::task expire(spi::time_point) override { return store.conclude(*this); }

    std::vector<spi::renewal_answer> answers(std::size_t nodes) const {
        std::vector<spi::renewal_answer> all;
        for (const one& each : claims)
            all.push_back(each.known ? renewed_by(nodes, each.renewed, each.lost) : spi::renewal_answer::lost);
        return all;
    }

    quorum_store& store;
    spi::reply<std::vector<spi::renewal_answer>> done;
    std::vector<one> claims;
    std::size_t missing = 0;  // nodes
};

struct quorum_store::release_round final : quorum_round {
    release_round(quorum_store& in, const claim_id& which, std::string_view of, const claim_id& as, std::size_t nodes)
        : store(in), id(which), name(of), value(as), said(nodes, spi::release_answer::unknown), asked(nodes) {}
    spi::task expire(spi::time_point) override { return store.conclude(*this); }

    std::size_t missing() const { return static_cast<std::size_t>(std::count(asked.begin(), asked.end(), 1)); }

    quorum_store& store;
    const claim_id id;
    const std::string name;
    const claim_id value;
    std::vector<spi::release_answer> said;
    std::vector<char> asked;                 // and not answered yet
    std::optional<spi::time_point> until{};  // it has ended, and what is unknown is repeated until then
    std::vector<spi::reply<spi::release_answer>> replies;
};

quorum_store::quorum_store(const std::vector<spi::quorum_node>& nodes, const spi::quorum_options& options,
                           const spi::context& context)
    : options_(options), context_(context) {
    std::vector<mortise::promises> promised;
    for (const spi::quorum_node& one : nodes) {
        nodes_.push_back(std::make_unique<quorum_node>(one, context, options.settle));
        promised.push_back(nodes_.back()->store().promises());
    }
    promises_ = promises_of_quorum(promised, options_);
}

std::optional<spi::duration> quorum_store::keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept {
    spi::duration longest{};
    for (const auto& node : nodes_) {
        const auto kept = node->store().keeps_abandoned(lease);
        if (!kept) return std::nullopt;
        longest = std::max(longest, *kept);
    }
    return longest;
}

// ---- rounds

void quorum_store::begin(const std::shared_ptr<quorum_round>& round, spi::time_point deadline) {
    round->place = open_.emplace(deadline, round);
}

void quorum_store::end(quorum_round& round) {
    if (round.place) open_.erase(*std::exchange(round.place, std::nullopt));
}

// One timer for the first deadline. It is not cancelled when its round ends, and looks for the next then.
void quorum_store::watch_deadlines() {
    spi::time_point next;
    std::weak_ptr<int> alive;
    {
        lock held{mutex_};
        if (open_.empty() || (next_look_ && *next_look_ <= open_.begin()->first)) return;
        next = open_.begin()->first;
        next_look_ = next;
        alive = alive_;
    }
    context_.clock.at(next, [this, alive] {
        if (alive.lock()) expire_rounds();
    });
}

void quorum_store::expire_rounds() {
    std::vector<spi::task> todo;
    {
        lock held{mutex_};
        const spi::time_point now = context_.clock.now();
        if (next_look_ && *next_look_ <= now) next_look_.reset();
        while (!open_.empty() && open_.begin()->first <= now) {
            const std::shared_ptr<quorum_round> round = open_.begin()->second;
            todo.push_back(round->expire(now));
        }
    }
    for (spi::task& one : todo) one();
    watch_deadlines();
}

// ---- claims

void quorum_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const spi::time_point now = context_.clock.now();
    const spi::duration lease = wanted.lease.value_or(*promises_.default_lease);
    std::shared_ptr<claim_round> round;
    spi::claim_request asked = wanted;
    {
        lock held{mutex_};
        if (closed_) return;
        if (ended_.find(wanted.id, now) != nullptr) {
            held.unlock();
            return done({.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled});
        }
        entry& mine = entries_[wanted.id];
        if (mine.releasing) {
            held.unlock();
            return done({.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled});
        }
        if (mine.claiming) return mine.claiming->replies.push_back(std::move(done));
        if (!mine.granted) mine = {.name = std::string(wanted.name), .value = claim_id::random()};
        mine.lease = lease;
        round = std::make_shared<claim_round>(*this, wanted.id,
                                              quorum_vote::rules{.nodes = nodes_.size(),
                                                                 .lease = lease,
                                                                 .node_timeout = options_.node_timeout,
                                                                 .min_validity = options_.min_validity,
                                                                 .drift = options_.drift,
                                                                 .margin = options_.margin},
                                              now);
        round->replies.push_back(std::move(done));
        mine.claiming = round;
        asked.id = mine.value;
        begin(round, round->vote.deadline());
    }
    asked.lease = lease;
    asked.queue = false;
    asked.instead_of = {};
    asked.wait_slot = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        {
            lock held{mutex_};
            if (!round->open() && round->vote.is() != quorum_vote::result::granted) break;
            round->asked[i] = 1;
        }
        nodes_[i]->claim(asked, [this, round, i](node_vote vote) { answered(round, i, std::move(vote)); });
    }
    watch_deadlines();
}

void quorum_store::answered(const std::shared_ptr<claim_round>& round, std::size_t node, node_vote vote) {
    spi::task todo;
    {
        lock held{mutex_};
        if (!round->open()) return;
        const ballot is = vote.is;
        round->seen[node] = std::move(vote);
        if (round->vote.cast(node, is, context_.clock.now()) == quorum_vote::result::open) return;
        todo = conclude(*round);
    }
    todo();
}

// If it failed, it is released wherever it may be, before the answer is given.
spi::task quorum_store::conclude(claim_round& round) {
    end(round);
    const auto found = entries_.find(round.id);
    entry& mine = found->second;
    spi::claim_answer answer = answer_of(round, context_.clock.now());
    std::vector<std::size_t> places;
    std::string name;
    const claim_id value = mine.value;
    const spi::duration lease = mine.lease;
    mine.claiming.reset();
    if (answer.is == spi::claim_answer::verdict::granted) {
        mine.granted = true;
    } else {
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (round.asked[i] != 0 && (mine.granted || round.vote.may_be_at(i))) places.push_back(i);
        name = std::move(mine.name);
        entries_.erase(found);
    }
    return [this, answer = std::move(answer), replies = std::move(round.replies), places = std::move(places),
            name = std::move(name), value, lease]() mutable {
        release_at(places, name, value, lease);
        for (auto& done : replies) done(answer);
    };
}

void quorum_store::release_at(const std::vector<std::size_t>& places, const std::string& name, const claim_id& value,
                              spi::duration lease) {
    const spi::time_point until = context_.clock.now() + keeps_abandoned(lease).value_or(lease);
    for (const std::size_t i : places) nodes_[i]->give_back(name, value, until);
}

spi::claim_answer quorum_store::answer_of(const claim_round& round, spi::time_point now) const {
    using enum spi::claim_answer::verdict;
    using result = quorum_vote::result;
    const quorum_vote& vote = round.vote;
    const spi::duration lease = entries_.at(round.id).lease;
    const std::size_t needed = majority_of(nodes_.size());
    if (vote.is() == result::granted) return {.is = granted, .grant = {.lease = lease, .counted_from = vote.started()}};
    if (vote.is() == result::busy) {
        spi::claim_answer no{.is = busy};
        no.standing.holder.emplace();
        std::vector<std::optional<spi::duration>> free;
        for (const node_vote& one : round.seen) free.push_back(one.free_in);
        no.standing.free_in = free_in_a_majority(std::move(free));
        return no;
    }
    spi::claim_answer no{.is = vote.is() == result::refused ? refused : unknown, .reason = errc::unreachable};
    no.unreached = vote.count(ballot::unreached) > nodes_.size() - needed;
    if (vote.is() == result::too_late)
        no.detail = "granted by " + std::to_string(vote.count(ballot::granted)) + " of " +
                    std::to_string(nodes_.size()) + " nodes, but after " + readable(now - vote.started()) +
                    " too little of the lease of " + readable(lease) + " was left";
    else
        no.detail =
            std::to_string(needed) + " of " + std::to_string(nodes_.size()) + " nodes must grant it, and these did not";
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const node_vote& one = round.seen[i];
        if (vote.of(i) == ballot::granted || vote.of(i) == ballot::none) continue;
        if (vote.is() == result::refused && vote.of(i) == ballot::refused) no.reason = one.reason;
        const std::string why = one.why.empty() ? "no answer within " + readable(time_for(lease)) : one.why;
        no.detail += "; " + (why.find(nodes_[i]->name()) == std::string::npos ? nodes_[i]->name() + ": " : "") + why;
    }
    return no;
}

// ---- renewals

void quorum_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto round = std::make_shared<renewal_round>(*this, std::move(done));
    std::vector<spi::renewal> asked;
    std::vector<std::size_t> places;  // of those asked, in the request
    {
        lock held{mutex_};
        if (closed_) return;
        spi::duration patience = options_.node_timeout;
        round->claims.reserve(due.size());
        for (const spi::renewal& one : due) {
            const auto found = entries_.find(one.id);
            const bool known = found != entries_.end() && found->second.granted && !found->second.releasing;
            round->claims.push_back({.name = std::string(one.name), .id = one.id, .lease = one.lease, .known = known});
            if (!known) continue;
            renewal_round::one& mine = round->claims.back();
            mine.value = found->second.value;
            found->second.lease = std::max(found->second.lease, one.lease);
            asked.push_back({mine.name, mine.value, one.lease});
            places.push_back(round->claims.size() - 1);
            if (one.lease > spi::duration::zero()) patience = std::min(patience, time_for(one.lease));
        }
        round->missing = nodes_.size();
        if (!asked.empty()) begin(round, context_.clock.now() + patience);
    }
    if (asked.empty()) return round->done(round->answers(nodes_.size()));
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        nodes_[i]->store().renew(asked, [this, round, places, i](std::vector<spi::renewal_answer> answers) {
            std::vector<spi::renewal_answer> placed(round->claims.size(), spi::renewal_answer::unknown);
            for (std::size_t n = 0; n < std::min(places.size(), answers.size()); ++n) placed[places[n]] = answers[n];
            answered(round, i, placed);
        });
    watch_deadlines();
}

void quorum_store::answered(const std::shared_ptr<renewal_round>& round, std::size_t node,
                            const std::vector<spi::renewal_answer>& answers) {
    spi::task todo;
    {
        lock held{mutex_};
        if (!round->open()) return;
        for (std::size_t i = 0; i < answers.size(); ++i) {
            renewal_round::one& one = round->claims[i];
            if (answers[i] == spi::renewal_answer::renewed) ++one.renewed;
            if (answers[i] == spi::renewal_answer::lost) {
                ++one.lost;
                one.lost_at.push_back(node);
            }
        }
        --round->missing;
        const auto all = round->answers(nodes_.size());
        const bool certain = std::count(all.begin(), all.end(), spi::renewal_answer::unknown) == 0;
        if (!certain && round->missing > 0) return;
        todo = conclude(*round);
    }
    todo();
}

// A majority has a hold, so nobody else can: the nodes that have forgotten it are given it again, and count from the next
// renewal on.
spi::task quorum_store::conclude(renewal_round& round) {
    end(round);
    std::vector<std::pair<std::size_t, renewal_round::one>> again;
    auto answers = round.answers(nodes_.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const renewal_round::one& one = round.claims[i];
        const auto found = entries_.find(one.id);
        if (answers[i] != spi::renewal_answer::renewed || one.lease == spi::duration::zero()) continue;
        if (found == entries_.end() || found->second.releasing) continue;
        for (const std::size_t node : one.lost_at) again.emplace_back(node, one);
    }
    return [this, answers = std::move(answers), done = std::move(round.done), again = std::move(again)]() mutable {
        for (const auto& [node, one] : again)
            nodes_[node]->store().claim({.name = one.name, .id = one.value, .lease = one.lease},
                                        [](const spi::claim_answer&) {});
        done(std::move(answers));
    };
}

// ---- releases

// Everywhere, also where it was not granted: an answer may have been lost, and a renewal may have given it again.
void quorum_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    const spi::time_point now = context_.clock.now();
    std::vector<spi::reply<spi::claim_answer>> given_up;
    std::shared_ptr<release_round> round;
    std::vector<std::size_t> places;
    {
        lock held{mutex_};
        if (closed_) return;
        forget_unsure(now);
        if (const ended_claim* const before = ended_.find(id, now); before != nullptr) {
            const auto answer = static_cast<spi::release_answer>(before->answer);
            held.unlock();
            return done(answer);
        }
        // An id that nothing is known of is no claim, and the nodes say whose the name is.
        const auto [found, stranger] = entries_.try_emplace(id);
        entry& mine = found->second;
        if (stranger) mine = {.name = std::string(name), .value = id, .lease = *promises_.default_lease};
        if (mine.claiming) {
            given_up = std::move(mine.claiming->replies);
            end(*mine.claiming);
            mine.claiming.reset();
        }
        if (!mine.releasing)
            mine.releasing = std::make_shared<release_round>(*this, id, name, mine.value, nodes_.size());
        round = mine.releasing;
        round->replies.push_back(std::move(done));
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (round->said[i] == spi::release_answer::unknown && std::exchange(round->asked[i], 1) == 0)
                places.push_back(i);
        if (!round->open()) begin(round, now + time_for(mine.lease));
    }
    for (const std::size_t i : places)
        nodes_[i]->store().release(name, round->value,
                                   [this, round, i](spi::release_answer answer) { answered(round, i, answer); });
    for (auto& claimed : given_up) claimed({.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled});
    watch_deadlines();
}

void quorum_store::answered(const std::shared_ptr<release_round>& round, std::size_t node, spi::release_answer answer) {
    spi::task todo;
    std::optional<spi::time_point> repeat_until;
    {
        lock held{mutex_};
        round->asked[node] = 0;
        if (round->said[node] == spi::release_answer::unknown) round->said[node] = answer;
        if (!round->open()) {
            if (answer != spi::release_answer::unknown || !round->until) return;
            repeat_until = round->until;
        } else {
            const auto released = std::count(round->said.begin(), round->said.end(), spi::release_answer::released);
            if (static_cast<std::size_t>(released) < majority_of(nodes_.size()) && round->missing() > 0) return;
            todo = conclude(*round);
        }
    }
    if (repeat_until) return nodes_[node]->give_back(round->name, round->value, *repeat_until);
    todo();
}

spi::task quorum_store::conclude(release_round& round) {
    end(round);
    const spi::time_point now = context_.clock.now();
    const spi::release_answer answer = released_by(round.said);
    const auto found = entries_.find(round.id);
    const spi::duration lease = found->second.lease;
    const spi::time_point until = now + keeps_abandoned(lease).value_or(lease);
    std::vector<std::size_t> places;
    std::shared_ptr<release_round> mine = found->second.releasing;
    if (answer == spi::release_answer::unknown) {
        unsure_.emplace_back(until, round.id);
    } else {
        round.until = until;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (round.said[i] == spi::release_answer::unknown && round.asked[i] == 0) places.push_back(i);
        entries_.erase(found);
        ended_.add(ended_claim::at(now, round.id, answer), now);
    }
    return [this, answer, until, replies = std::move(round.replies), places = std::move(places),
            mine = std::move(mine)]() mutable {
        for (const std::size_t i : places) nodes_[i]->give_back(mine->name, mine->value, until);
        for (auto& done : replies) done(answer);
    };
}

// The core repeats a release for as long as a node may keep the claim, and no longer.
void quorum_store::forget_unsure(spi::time_point now) {
    for (; !unsure_.empty() && unsure_.front().first < now; unsure_.pop_front()) {
        const auto found = entries_.find(unsure_.front().second);
        if (found != entries_.end() && found->second.releasing && !found->second.releasing->open())
            entries_.erase(found);
    }
}

// ---- the rest

void quorum_store::check(spi::reply<std::vector<finding>> done) {
    struct gathering {
        std::mutex mutex;
        std::vector<std::vector<finding>> found;
        std::size_t missing;
        spi::reply<std::vector<finding>> done;
    };
    const auto all = std::make_shared<gathering>();
    all->found.resize(nodes_.size());
    all->missing = nodes_.size();
    all->done = std::move(done);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        nodes_[i]->store().check([this, all, i](std::vector<finding> found) {
            {
                std::scoped_lock guard{all->mutex};
                all->found[i] = std::move(found);
                if (--all->missing > 0) return;
            }
            std::vector<finding> joined;
            for (std::size_t n = 0; n < nodes_.size(); ++n)
                for (finding& one : all->found[n]) {
                    if (one.what.find(nodes_[n]->name()) == std::string::npos)
                        one.what = nodes_[n]->name() + ": " + one.what;
                    joined.push_back(std::move(one));
                }
            all->done(std::move(joined));
        });
}

void quorum_store::close() noexcept {
    if (closed_.exchange(true)) return;
    for (const auto& node : nodes_) node->close();
    // Replies are dropped with no mutex held.
    std::unordered_map<claim_id, entry> entries;
    std::multimap<spi::time_point, std::shared_ptr<quorum_round>> open;
    lock held{mutex_};
    alive_.reset();
    open.swap(open_);
    entries.swap(entries_);
    held.unlock();
}

}  // namespace
}  // namespace mortise::inline v0::base

namespace mortise::inline v0::spi {

store_factory quorum_of(std::vector<quorum_node> nodes, quorum_options options) {
    if (nodes.empty()) throw error(errc::invalid_option, "a quorum needs nodes");
    return [nodes = std::move(nodes), options = std::move(options)](const context& outer) -> std::unique_ptr<store> {
        return std::make_unique<base::quorum_store>(nodes, options, outer);
    };
}

}  // namespace mortise::inline v0::spi
