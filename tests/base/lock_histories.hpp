// Random histories of one name, as the users of each kind of lock would make them, judged by name_judge.hpp.
#pragma once

#include "base/name_judge.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::testing::histories {

enum class kind { any, mutex, shared_mutex, counting_semaphore, multi_lock };  // any: weights and capacities at random

inline constexpr std::array every_kind{kind::any, kind::mutex, kind::shared_mutex, kind::counting_semaphore,
                                       kind::multi_lock};

inline std::string_view name_of(kind which) {
    constexpr std::array names{"any", "mutex", "shared_mutex", "counting_semaphore", "multi_lock"};
    return names[static_cast<std::size_t>(which)];
}

// As shared_mutex asks for them.
inline constexpr std::uint32_t all = std::uint32_t{1} << 31;
inline constexpr std::uint32_t reading = 1;
inline constexpr std::uint32_t upgradeable = all / 2 + 1;

// Time that passes between steps, and a wall clock that is set now and then.
class calendar {
public:
    calendar(std::uint64_t first_counter, spi::duration at_most) : most_(at_most) { at_.wall_us += first_counter; }
    const instant& now() const { return at_; }
    void pass(dice& rolls) {
        if (!rolls.one_in(3)) at_.now += spi::duration{rolls.below(static_cast<std::uint64_t>(most_.count()))};
        at_.wall_us += rolls.below(most_ < std::chrono::seconds{1} ? 3 : 5000);
        if (rolls.one_in(20)) at_.wall_us -= std::min<std::uint64_t>(at_.wall_us, rolls.below(100000));
        if (rolls.one_in(40)) at_.wall_us += rolls.below(100000);
    }

private:
    const spi::duration most_;
    instant at_{spi::time_point{std::chrono::seconds{1000}}, 5000};
};

// The steps of a history, for whoever has to understand why it failed.
class record {
public:
    void add(const step& s, const instant& at, std::size_t name = 0) { all_.push_back({s, at, name}); }
    bool empty() const { return all_.empty(); }
    const step& any(dice& rolls) const { return all_[rolls.below(all_.size())].what; }
    std::string text(bool with_names = false) const {
        std::ostringstream out;
        for (const entry& e : all_) {
            out << "\n  " << e.at.now.time_since_epoch().count() / 1000000 << " ms, wall " << e.at.wall_us << ": ";
            if (with_names) out << static_cast<char>('a' + e.name) << ": ";
            out << e.what;
        }
        return out.str();
    }

private:
    struct entry {
        step what;
        instant at;
        std::size_t name;
    };
    std::vector<entry> all_;
};

inline spi::duration a_lease(dice& rolls) {
    return std::chrono::milliseconds{500 + rolls.below(15000)};
}

template <class State>
class history {
public:
    history(kind of, std::uint64_t seed, State& real, flaw wrong, std::size_t remembers, tally& counted)
        : of_(of),
          dice_(seed),
          long_(dice_.one_in(40)),
          times_(real.last_counter(), long_             ? std::chrono::milliseconds{50}
                                      : dice_.one_in(3) ? std::chrono::milliseconds{500}
                                                        : std::chrono::milliseconds{6000}),
          judge_(real, wrong, remembers, counted),
          salt_(seed) {
        ++counted.histories;
        sessions_ = 1 + dice_.below(3);
        switch (of) {
            case kind::shared_mutex:
                capacity_ = all;
                break;
            case kind::counting_semaphore:
                capacity_ = static_cast<std::uint32_t>(2 + dice_.below(7));
                break;
            case kind::any:
                capacity_ = static_cast<std::uint32_t>(dice_.one_in(2) ? 1 : 1 + dice_.below(6));
                break;
            case kind::mutex:
            case kind::multi_lock:  // several names: several_names.hpp
                break;
        }
    }

    // The first disagreement, with the steps that led to it.
    std::optional<std::string> run() {
        const std::uint64_t steps = long_ ? 300 : 20 + dice_.below(41);
        for (std::uint64_t i = 0; i < steps; ++i) {
            times_.pass(dice_);
            const step now = !log_.empty() && dice_.one_in(4) ? repeat() : invent();
            log_.add(now, times_.now());
            judge_.take(now, times_.now());
            if (!judge_.complaint().empty()) return judge_.complaint() + "\nafter" + log_.text();
        }
        return std::nullopt;
    }

private:
    step invent() {
        step s;
        s.wanted.id = any_id();
        switch (dice_.below(12)) {
            default:
                return judge_.holders().empty() || !dice_.one_in(exchanges()) ? claim() : exchange();
            case 0:
            case 1:
            case 2:
                s.what = step::verb::release;
                s.session = 1 + dice_.below(3);
                return s;
            case 3:
            case 4:
                s.what = step::verb::renew;
                s.lease = a_lease(dice_);
                return s;
            case 5:
                s.what = step::verb::settle;
                return s;
            case 6:
                if (dice_.one_in(2)) {
                    s.what = step::verb::drop_session;
                    s.session = 1 + dice_.below(sessions_);
                } else {
                    s.what = step::verb::break_hold;
                    const auto& held = judge_.holders();
                    s.counter = held.empty() || dice_.one_in(4) ? judge_.state().last_counter() + dice_.below(2)
                                                                : held[dice_.below(held.size())].counter;
                }
                return s;
        }
    }

    // One claim in so many is to take the place of a hold. Kinds without such claims still meet one now and then.
    std::uint64_t exchanges() const { return of_ == kind::shared_mutex ? 3 : of_ == kind::any ? 4 : 50; }

    step claim() {
        step s;
        s.what = step::verb::claim;
        s.wanted = {.id = {{++last_id_, salt_}}, .session = 1 + dice_.below(sessions_), .detached = dice_.one_in(5)};
        const bool stranger = dice_.one_in(of_ == kind::any ? 12 : 60);  // to whom the name means another kind
        s.capacity = stranger ? static_cast<std::uint32_t>(1 + dice_.below(6)) : capacity_;
        s.wanted.weight = s.capacity == all ? a_way() : static_cast<std::uint32_t>(1 + dice_.below(s.capacity));
        if (!dice_.one_in(6)) s.wanted.lease = a_lease(dice_);
        s.queue = !dice_.one_in(4);
        return s;
    }
    std::uint32_t a_way() {
        const auto n = dice_.below(10);
        return n < 5 ? reading : n < 7 ? upgradeable : all;
    }

    // Up or down, also where the kind would know better: the store is asked by clients of any age.
    step exchange() {
        const auto& held = judge_.holders();
        const kept_claim& old = held[dice_.below(held.size())];
        step s = claim();
        s.wanted.instead_of = dice_.one_in(8) ? any_id() : old.id;
        s.wanted.session = old.session;
        s.capacity = judge_.state().capacity();
        s.wanted.weight = s.capacity == all
                              ? a_step_from(old.weight)
                              : static_cast<std::uint32_t>(dice_.one_in(2) ? s.capacity : 1 + dice_.below(s.capacity));
        return s;
    }
    std::uint32_t a_step_from(std::uint32_t way) {
        if (dice_.one_in(8)) return a_way();
        return way == upgradeable ? (dice_.one_in(4) ? reading : all) : dice_.one_in(2) ? upgradeable : reading;
    }

    // Any earlier request once more: late, doubled, or asked again with the will to wait, or without.
    step repeat() {
        step again = log_.any(dice_);
        if (again.what == step::verb::claim && dice_.one_in(3)) again.queue = true;
        if (again.wanted.replaces() && dice_.one_in(3)) again.queue = false;
        return again;
    }

    claim_id any_id() {  // mostly a recent one, now and then one that was never claimed
        if (last_id_ == 0 || dice_.one_in(15)) return {{1000 + dice_.below(5), salt_}};
        return {{last_id_ - dice_.below(std::min<std::uint64_t>(last_id_, 8)), salt_}};
    }

    const kind of_;
    dice dice_;
    const bool long_;  // enough for ended ids to be forgotten for want of room
    calendar times_;
    name_judge<State> judge_;
    std::uint32_t capacity_ = 1;
    std::uint64_t sessions_ = 1;
    std::uint64_t last_id_ = 0;
    const std::uint64_t salt_;  // a state may remember ids of another history
    record log_;
};

}  // namespace mortise::testing::histories
