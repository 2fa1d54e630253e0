// Random histories of a line that clients read, think about and write to, each in its own time: what one has read may be old
// when it acts on it, as with a store of keys. Checked at every step: the weights of all that count as granted fit, and the
// counters of grants that exclude each other rise. At the end everybody who waits is granted in turn, woken only by what
// it said it watches.
//
// A failing history prints its seed; MORTISE_TEST_SEED=<seed> runs it alone.
#include "base/line.hpp"
#include "support/seeds.hpp"
#include "support/waiting.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using is = line_verdict::verdict;
constexpr std::uint32_t all = 1U << 31U;
constexpr std::uint32_t upgradeable = (1U << 30U) + 1;

enum class wrong { nothing, guards, stamps, places, parts };

class line_history {
public:
    line_history(std::uint64_t seed, wrong what) : random_(seed), wrong_(what) {
        const std::uint32_t kinds[] = {1, 3, 8, all};
        capacity_ = kinds[pick(4)];
    }

    std::optional<std::string> run() {
        for (int step = 0; step < 60 && !found_; ++step) {
            switch (pick(8)) {
                case 0:
                case 1:
                    arrive();
                    break;
                case 2:
                case 3:
                    leave();
                    break;
                case 4:
                    begin_exchange();
                    break;
                case 5:
                    look();
                    break;
                default:
                    act();
                    break;
            }
        }
        for (int step = 0; step < 2000 && !found_ && !line_.empty(); ++step) {
            if (!thinking_.empty())
                act();
            else if (!awake_.empty())
                look();
            else if (!leave())
                found_ = "nobody holds, nobody is to look again, and " + std::to_string(line_.size()) + " wait";
        }
        return found_;
    }

    std::uint64_t exchanges = 0, stamps = 0, grants = 0, parts = 0;

private:
    struct thought {
        claim_id id;
        line_verdict verdict;
        std::uint64_t floor;
    };
    struct granted {
        std::uint32_t weight;
        std::uint64_t counter;
    };

    std::uint64_t pick(std::uint64_t below) { return random_() % below; }
    line_entry* find(const claim_id& id) {
        const auto at = std::ranges::find(line_, id, &line_entry::id);
        return at == line_.end() ? nullptr : &*at;
    }

    std::uint32_t some_weight() {
        if (capacity_ != all) return 1 + static_cast<std::uint32_t>(pick(capacity_));
        const std::uint32_t weights[] = {1, 1, upgradeable, all};
        return weights[pick(4)];
    }

    void arrive(claim_id instead = {}, std::uint32_t weight = 0) {
        const claim_id id{{++ids_, 1}};
        ++revision_;
        line_.push_back({.id = id,
                         .arrived = revision_,
                         .written = revision_,
                         .capacity = capacity_,
                         .weight = weight != 0 ? weight : some_weight(),
                         .instead_of = instead});
        awake_.insert(id);
    }

    void remove(const claim_id& id) {
        ++revision_;
        std::erase_if(line_, [&](const line_entry& one) { return one.id == id; });
        if (const auto held = held_.find(id); held != held_.end()) {
            ended_.push_back(held->second);
            held_.erase(held);
        }
        awake_.erase(id);
        watches_.erase(id);
        std::erase_if(thinking_, [&](const thought& one) { return one.id == id; });
        for (const auto& [who, watched] : watches_)
            if (std::ranges::count(watched, id) != 0) awake_.insert(who);
        if (line_.empty()) floor_ = 0;
    }

    // Somebody who holds, and does not wait to hold otherwise; or now and then somebody who waits.
    bool leave() {
        std::vector<claim_id> may;
        for (const line_entry& one : line_) {
            const bool waits_for_more = std::ranges::any_of(
                line_, [&](const line_entry& other) { return other.to_be_exchanged() && other.instead_of == one.id; });
            if (!waits_for_more && (held_.contains(one.id) || pick(6) == 0)) may.push_back(one.id);
        }
        if (may.empty()) return false;
        remove(may[pick(may.size())]);
        return true;
    }

    void begin_exchange() {
        if (held_.empty()) return;
        const auto old = std::next(held_.begin(), static_cast<std::ptrdiff_t>(pick(held_.size())))->first;
        if (std::ranges::any_of(line_,
                                [&](const line_entry& one) { return one.to_be_exchanged() && one.instead_of == old; }))
            return;
        arrive(old, some_weight());
    }

    void look() {
        if (awake_.empty()) return;
        const claim_id id = *std::next(awake_.begin(), static_cast<std::ptrdiff_t>(pick(awake_.size())));
        awake_.erase(id);
        const line_verdict v = pick(2) == 0 ? judge(line_, id, floor_) : judge_a_part(id);
        const line_verdict whole = judge(line_, id, floor_);
        const line_verdict among_many = judged_line{line_}.of(id);
        if (among_many.is != whole.is || among_many.watch != whole.watch || among_many.guards != whole.guards ||
            among_many.place != whole.place || among_many.holder != whole.holder)
            found_ = "one of many verdicts is another than the one";
        watches_[id] = v.watch;  // from the revision right after the one just read
        thinking_.push_back({id, v, floor_});
    }

    // Of the entries up to its own the last few, and the first: as who reads less than the line does.
    line_verdict judge_a_part(const claim_id& id) {
        const line_verdict whole = judge(line_, id, floor_);
        std::vector<line_entry> some = line_;
        std::ranges::sort(some, {}, &line_entry::arrived);
        const auto mine = std::ranges::find(some, id, &line_entry::id);
        if (mine == some.end()) return whole;
        std::optional<line_entry> first;
        if (pick(2) == 0) first = some.front();
        const bool after = pick(2) == 0;
        if (after) some.erase(mine + 1, some.end());
        const std::size_t most = 1 + pick(5);
        const bool before = some.size() > most;
        if (before) some.erase(some.begin(), some.end() - static_cast<std::ptrdiff_t>(most));
        const auto known = judge_part({.end = some, .first = first, .missing_before = before, .missing_after = after},
                                      id, wrong_ == wrong::parts ? 0 : floor_);
        if (!known) return whole;
        ++parts;
        if (wrong_ == wrong::parts) return *known;
        if (known->is != whole.is) found_ = "a part is judged otherwise than the whole";
        if (known->holder && known->holder != whole.holder) found_ = "a part names another holder than the whole";
        if (known->place != 0 && known->place != whole.place) found_ = "a part gives another place than the whole";
        return *known;
    }

    void act() {
        if (thinking_.empty()) return;
        const std::size_t which = pick(thinking_.size());
        const thought now = thinking_[which];
        thinking_.erase(thinking_.begin() + static_cast<std::ptrdiff_t>(which));
        line_entry* mine = find(now.id);
        if (mine == nullptr) return;
        switch (now.verdict.is) {
            case is::holds:
                return held_.contains(now.id) ? void() : take(*mine, now);
            case is::may_exchange:
                return exchange(*mine, now);
            case is::lost:
            case is::would_deadlock:
                return remove(now.id);
            default:
                return;
        }
    }

    void take(line_entry& mine, const thought& now) {
        if (now.verdict.to_be_stamped && wrong_ != wrong::stamps) {
            if (floor_ != now.floor) {
                awake_.insert(mine.id);
                return;
            }
            mine.written = floor_ = ++revision_;
            mine.stamped = true;
            ++stamps;
        }
        grant(mine);
    }

    void exchange(line_entry& mine, const thought& now) {
        const bool guarded =
            std::ranges::all_of(now.verdict.guards, [&](const claim_id& id) { return find(id) != nullptr; });
        if ((!guarded || floor_ != now.floor) && (wrong_ != wrong::guards || find(mine.instead_of) == nullptr)) {
            awake_.insert(mine.id);
            return;
        }
        const claim_id old = mine.instead_of;
        if (wrong_ != wrong::places) mine.place = find(old)->stands_at();
        mine.instead_of = wrong_ == wrong::places ? claim_id{} : mine.instead_of;
        mine.stamped = true;
        mine.written = floor_ = ++revision_;
        ++exchanges;
        const claim_id id = mine.id;
        ended_.push_back(held_.at(old));
        held_.erase(old);
        grant(mine);
        const std::uint64_t floor = floor_;
        remove(old);
        floor_ = floor;
        watches_.erase(id);
    }

    void grant(const line_entry& mine) {
        ++grants;
        std::uint64_t used = mine.weight;
        for (const auto& [id, other] : held_) used += other.weight;
        if (used > capacity_) found_ = "more is granted than fits";
        for (const granted& before : ended_)
            if (std::uint64_t{before.weight} + mine.weight > capacity_ && before.counter >= mine.counter())
                found_ = "counter " + std::to_string(mine.counter()) + " after " + std::to_string(before.counter);
        held_[mine.id] = {mine.weight, mine.counter()};
    }

    std::mt19937_64 random_;
    wrong wrong_;
    std::uint32_t capacity_;
    std::uint64_t ids_ = 0, revision_ = 0, floor_ = 0;
    std::vector<line_entry> line_;
    std::set<claim_id> awake_;
    std::vector<thought> thinking_;
    std::map<claim_id, std::vector<claim_id>> watches_;
    std::map<claim_id, granted> held_;
    std::vector<granted> ended_;
    std::optional<std::string> found_;
};

struct tally {
    std::optional<std::string> found{};
    std::uint64_t grants = 0, exchanges = 0, stamps = 0, parts = 0;
};

tally run_histories(std::uint64_t histories, wrong what) {
    tally sums;
    sums.found = testing::first_complaint(histories, [&](std::uint64_t seed) {
        line_history one(seed, what);
        const auto found = one.run();
        sums.grants += one.grants;
        sums.exchanges += one.exchanges;
        sums.stamps += one.stamps;
        sums.parts += one.parts;
        return found;
    });
    return sums;
}

TEST(line_histories, are_safe_and_nobody_waits_for_ever) {
    const tally sums = run_histories(testing::scale(100'000), wrong::nothing);
    EXPECT_FALSE(sums.found) << *sums.found;
    std::cout << "grants=" << sums.grants << " exchanges=" << sums.exchanges << " stamps=" << sums.stamps
              << " parts=" << sums.parts << '\n';
    if (!testing::lone_seed()) {
        EXPECT_GT(sums.exchanges, 100u);
        EXPECT_GT(sums.stamps, 100u);
        EXPECT_GT(sums.parts, 100u);
    }
}

TEST(line_histories, exchanges_without_guards_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, wrong::guards).found);
}
TEST(line_histories, grants_that_are_not_stamped_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, wrong::stamps).found);
}
TEST(line_histories, parts_that_are_believed_after_an_exchange_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, wrong::parts).found);
}
TEST(line_histories, exchanges_that_stand_where_they_arrived_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, wrong::places).found);
}

}  // namespace
}  // namespace mortise::base
