#include "checker/verdict/linearizable.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace mortise::checker {
namespace {

enum class step_kind { take, give, again };

struct step {
    step_kind what = step_kind::take;
    const hold_span* of = nullptr;
    std::int64_t called = 0;
    std::int64_t returned = never;  // `never`: may happen at any time, or not at all
    std::uint64_t token = 0;        // of again
};

// What a lock remembers.
struct lock_state {
    std::vector<const hold_span*> holders{};  // sorted
    std::uint64_t newest = 0;                 // token
    std::uint64_t newest_exclusive = 0;

    friend auto operator<=>(const lock_state&, const lock_state&) = default;

    bool held_by(const hold_span* one) const { return std::binary_search(holders.begin(), holders.end(), one); }
};

class rules {
public:
    explicit rules(lock_model model) : model_(model) {}

    std::optional<lock_state> after(const lock_state& before, const step& next) const {
        switch (next.what) {
            case step_kind::take:
                return taken(before, *next.of);
            case step_kind::give:
                return given(before, next.of);
            case step_kind::again:
                return entered_again(before, next);
        }
        return std::nullopt;
    }

private:
    std::optional<lock_state> taken(const lock_state& before, const hold_span& one) const {
        unsigned weight = one.grant.weight;
        for (const hold_span* each : before.holders) weight += each->grant.weight;
        if (weight > one.grant.capacity) return std::nullopt;
        const bool alone = one.grant.weight == one.grant.capacity;
        lock_state next = before;
        if (model_ == lock_model::fenced || model_ == lock_model::read_write) {
            if (one.grant.token <= (alone ? before.newest : before.newest_exclusive)) return std::nullopt;
            next.newest = std::max(next.newest, one.grant.token);
            if (alone) next.newest_exclusive = one.grant.token;
        }
        next.holders.insert(std::upper_bound(next.holders.begin(), next.holders.end(), &one), &one);
        return next;
    }
    std::optional<lock_state> given(const lock_state& before, const hold_span* one) const {
        if (!before.held_by(one)) return std::nullopt;
        lock_state next = before;
        std::erase(next.holders, one);
        return next;
    }
    std::optional<lock_state> entered_again(const lock_state& before, const step& next) const {
        const bool same = model_ == lock_model::mutex || next.token == next.of->grant.token;
        return before.held_by(next.of) && same ? std::optional{before} : std::nullopt;
    }

    const lock_model model_;
};

// A state, and which of the calls that have not returned have happened in it.
struct configuration {
    lock_state state{};
    std::vector<const step*> done{};  // sorted

    friend auto operator<=>(const configuration&, const configuration&) = default;

    bool has(const step* one) const { return std::binary_search(done.begin(), done.end(), one); }
};

std::vector<step> steps_of(const std::vector<const hold_span*>& holds, lock_model model, const excuses& excused) {
    std::vector<step> all;
    for (const hold_span* one : holds) {
        if (one->taken_without_store() && excused.between(one->since, one->grant.ended))
            continue;  // of a forgotten grant
        all.push_back({step_kind::take, one, one->grant.invoked, one->grant.ended});
        if (model != lock_model::mutex)
            for (const operation& again : one->reentries)
                all.push_back({step_kind::again, one, again.invoked, again.ended, again.token});
        const bool forgotten = excused.between(one->grant.invoked, one->gone);
        // Who stood still before it heard of its grant may have lost it by then.
        const bool seen_valid = one->valid_to > one->grant.ended;
        const std::int64_t ends_from = seen_valid && !forgotten ? one->valid_to : one->grant.invoked;
        if (one->end == phase::ok && !forgotten)
            all.push_back({step_kind::give, one, one->left, one->gone});
        else
            all.push_back({step_kind::give, one, ends_from, never});
    }
    return all;
}

struct event {
    std::int64_t at = 0;
    bool returns = false;  // calls first: what happens in the same nanosecond is concurrent
    const step* of = nullptr;

    friend bool operator<(const event& a, const event& b) {
        return std::pair{a.at, a.returns} < std::pair{b.at, b.returns};
    }
};

std::vector<event> events_of(const std::vector<step>& steps) {
    std::vector<event> all;
    for (const step& one : steps) {
        all.push_back({one.called, false, &one});
        if (one.returned != never) all.push_back({one.returned, true, &one});
    }
    std::stable_sort(all.begin(), all.end());
    return all;
}

// All that one lock can be, as time goes on.
class search {
public:
    search(lock_model model, std::size_t most) : rules_(model), most_(most) { possible_.insert(configuration{}); }

    enum class result { sound, violated, undecided };

    void call(const step* one) { pending_.push_back(one); }

    // Only what has happened by now remains.
    result ret(const step* one) {
        std::set<configuration> left;
        std::set<configuration> seen;
        std::vector<configuration> open{possible_.begin(), possible_.end()};
        while (!open.empty()) {
            configuration now = std::move(open.back());
            open.pop_back();
            if (now.has(one)) {
                std::erase(now.done, one);
                left.insert(std::move(now));
                continue;
            }
            if (!seen.insert(now).second) continue;
            if (seen.size() > most_) return result::undecided;
            for (const step* next : pending_)
                if (auto then = with(now, next)) open.push_back(std::move(*then));
        }
        std::erase(pending_, one);
        possible_ = std::move(left);
        forget_what_is_over();
        return possible_.empty() ? result::violated : result::sound;
    }

private:
    std::optional<configuration> with(const configuration& now, const step* next) const {
        if (now.has(next)) return std::nullopt;
        auto state = rules_.after(now.state, *next);
        if (!state) return std::nullopt;
        configuration then{std::move(*state), now.done};
        // What may never return is not remembered: a hold ends but once, so it cannot be done again.
        if (next->returned != never) then.done.insert(std::upper_bound(then.done.begin(), then.done.end(), next), next);
        return then;
    }

    // The end of a hold that was granted, and is held in no state.
    void forget_what_is_over() {
        std::erase_if(pending_, [&](const step* one) {
            if (one->returned != never) return false;
            const auto same = [&](const step* other) { return other->of == one->of && other->what == step_kind::take; };
            if (std::any_of(pending_.begin(), pending_.end(), same)) return false;
            return std::none_of(possible_.begin(), possible_.end(),
                                [&](const configuration& each) { return each.state.held_by(one->of); });
        });
    }

    const rules rules_;
    const std::size_t most_;
    std::set<configuration> possible_;
    std::vector<const step*> pending_;
};

std::string_view to_string(lock_model model) {
    switch (model) {
        case lock_model::mutex:
            return "mutex";
        case lock_model::reentrant:
            return "reentrant";
        case lock_model::fenced:
            return "fenced";
        case lock_model::read_write:
            return "read-write";
        case lock_model::semaphore:
            return "semaphore";
    }
    return "?";
}

std::string impossible(const step& at) {
    switch (at.what) {
        case step_kind::take:
            return named(at.of->grant) + " cannot have been granted by its answer, in any order of the calls";
        case step_kind::give:
            return named(at.of->grant) + " cannot have held it until its release, in any order of the calls";
        case step_kind::again:
            return named(at.of->grant) + " cannot have held it when it entered again";
    }
    return {};
}

}  // namespace

judgement linearizable(const std::vector<hold_span>& holds, lock_model model, const excuses& excused,
                       std::size_t most_states) {
    judgement found{.checker = "C4 linearizable as a " + std::string(to_string(model)) + " lock"};
    std::map<std::uint32_t, std::vector<const hold_span*>> locks;
    for (const hold_span& one : holds) locks[one.grant.lock].push_back(&one);
    for (const auto& [lock, of_lock] : locks) {
        const std::vector<step> steps = steps_of(of_lock, model, excused);
        search all{model, most_states};
        for (const event& each : events_of(steps)) {
            if (!each.returns) {
                all.call(each.of);
                continue;
            }
            ++found.checked;
            const search::result is = all.ret(each.of);
            if (is == search::result::sound) continue;
            if (is == search::result::undecided)
                ++found.undecided;
            else
                found.add({impossible(*each.of), lock, each.of->called, each.of->returned});
            break;
        }
    }
    return found;
}

}  // namespace mortise::checker
