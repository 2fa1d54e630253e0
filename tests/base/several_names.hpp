// Random histories of several names whose users want some of them together, as multi_lock does: one after the other, in the
// order of the names, and all given back if one cannot be had.
//
// Besides what name_judge.hpp compares for each name, nobody may wait in a circle: as long as anybody is under way, somebody
// can go on without the help of time.
#pragma once

#include "base/lock_histories.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::testing::histories {

template <class State>
class history_of_several {
public:
    enum class order { sorted, as_given };  // as given: users that may wait for each other

    history_of_several(std::uint64_t seed, const std::vector<State*>& real, flaw wrong, std::size_t remembers,
                       tally& counted, order taken = order::sorted)
        : dice_(seed),
          times_(real.front()->last_counter(), std::chrono::milliseconds{dice_.one_in(3) ? 500 : 6000}),
          taken_(taken),
          salt_(seed) {
        for (State* one : real) judges_.push_back(std::make_unique<name_judge<State>>(*one, wrong, remembers, counted));
        ++counted.histories;
        const std::uint64_t sessions = 1 + dice_.below(3);
        for (std::size_t i = 0; i < users_.size(); ++i) users_[i].session = 1 + i % sessions;
    }

    // The first disagreement, with the steps that led to it.
    std::optional<std::string> run() {
        const std::uint64_t steps = 40 + dice_.below(41);
        for (std::uint64_t i = 0; i < steps && wrong_.empty(); ++i) {
            times_.pass(dice_);
            something_happens();
            check_for_a_circle();
        }
        // Nobody begins anew, no time passes: all come to an end.
        closing_ = true;
        for (int i = 0; i < 1000 && wrong_.empty() && under_way(); ++i) {
            go_on(any_user());
            check_for_a_circle();
        }
        if (under_way()) fail("does not come to an end");
        for (const auto& one : judges_)
            if (!one->state().idle()) fail("something is left when all have gone");
        if (wrong_.empty()) return std::nullopt;
        return wrong_ + "\nafter" + log_.text(true);
    }

private:
    struct user {
        enum class doing { nothing, taking, waiting, having, leaving };
        doing is = doing::nothing;
        std::uint64_t session = 1;
        std::optional<spi::duration> lease{};
        std::vector<std::size_t> names{};  // wanted, in the order in which they are taken
        std::vector<claim_id> ids{};       // claimed so far, one for each of the first names
    };

    void something_happens() {
        user& who = any_user();
        switch (dice_.below(16)) {
            default:
                return go_on(who);
            case 0:  // gives up, at whichever point it is
                if (who.is != user::doing::nothing) who.is = user::doing::leaving;
                return;
            case 1:
            case 2:
                if (!who.ids.empty()) renew(who);
                return;
            case 3:
                if (dice_.one_in(2)) return die(who.session);
                return break_something();
            case 4:
                tell(dice_.below(judges_.size()), {.what = step::verb::settle});
                return;
            case 5:  // a message that comes twice
                if (!who.ids.empty()) ask(who, dice_.below(who.ids.size()), dice_.one_in(2));
                return;
        }
    }

    // The next step of somebody who is not kept waiting.
    void go_on(user& who) {
        switch (who.is) {
            case user::doing::nothing:
                if (!closing_) begin(who);
                return;
            case user::doing::taking:
                return take_next(who);
            case user::doing::waiting:
                return;
            case user::doing::having:
                if (closing_ || dice_.one_in(3)) who.is = user::doing::leaving;
                return;
            case user::doing::leaving:  // the last taken first
                if (who.ids.empty()) {
                    who.is = user::doing::nothing;
                    return;
                }
                const std::size_t name = who.names[who.ids.size() - 1];
                const claim_id id = who.ids.back();
                who.ids.pop_back();
                step s{.what = step::verb::release, .session = who.session};
                s.wanted.id = id;
                tell(name, s);
                return;
        }
    }

    void begin(user& who) {
        who.names.clear();
        for (std::size_t n = 0; n < judges_.size(); ++n)
            if (!dice_.one_in(3)) who.names.push_back(n);
        if (who.names.empty()) return;
        if (taken_ == order::as_given && dice_.one_in(2)) std::reverse(who.names.begin(), who.names.end());
        who.lease = dice_.one_in(2) ? std::optional(a_lease(dice_)) : std::nullopt;
        who.ids.clear();
        who.is = user::doing::taking;
    }

    void take_next(user& who) {
        who.ids.push_back({{++last_id_, salt_}});
        const verdict got = ask(who, who.ids.size() - 1, !dice_.one_in(5));
        if (who.is != user::doing::taking) return;  // told that another one is lost
        if (got == verdict::granted) {
            advance(who);
        } else {
            who.is = got == verdict::queued ? user::doing::waiting : user::doing::leaving;
        }
    }
    verdict ask(const user& who, std::size_t which, bool queue) {
        step s{.what = step::verb::claim, .capacity = 1, .queue = queue};
        s.wanted.id = who.ids[which];
        s.wanted.session = who.session;
        s.wanted.lease = who.lease;
        return tell(who.names[which], s).claim.is;
    }
    void advance(user& who) { who.is = who.ids.size() == who.names.size() ? user::doing::having : user::doing::taking; }

    // If one is lost all are given back.
    void renew(user& who) {
        const std::size_t which = dice_.below(who.ids.size());
        if (which + 1 == who.ids.size() && who.is == user::doing::waiting) return;
        step s{.what = step::verb::renew, .lease = a_lease(dice_)};
        s.wanted.id = who.ids[which];
        if (tell(who.names[which], s).renewal == spi::renewal_answer::lost) who.is = user::doing::leaving;
    }

    void die(std::uint64_t session) {
        for (user& who : users_) {
            if (who.session != session) continue;
            who.is = user::doing::nothing;
            who.ids.clear();
        }
        for (std::size_t n = 0; n < judges_.size(); ++n)
            tell(n, {.what = step::verb::drop_session, .session = session});
    }

    void break_something() {
        const std::size_t name = dice_.below(judges_.size());
        const auto& held = judges_[name]->holders();
        if (held.empty()) return;
        tell(name, {.what = step::verb::break_hold, .counter = held.front().counter});
    }

    outcome tell(std::size_t name, const step& s) {
        log_.add(s, times_.now(), name);
        outcome got = judges_[name]->take(s, times_.now());
        if (wrong_.empty()) wrong_ = judges_[name]->complaint();
        for (const auto& n : got.out.granted) pushed(n.id, true);
        for (const auto& n : got.out.lost) pushed(n.id, false);
        return got;
    }
    void pushed(const claim_id& id, bool granted) {
        for (user& who : users_) {
            const auto mine = std::find(who.ids.begin(), who.ids.end(), id);
            if (mine == who.ids.end()) continue;
            if (!granted) {
                who.is = user::doing::leaving;
            } else if (who.is == user::doing::waiting && mine + 1 == who.ids.end()) {
                advance(who);
            }
        }
    }

    bool under_way() const {
        return std::any_of(users_.begin(), users_.end(), [](const user& u) { return u.is != user::doing::nothing; });
    }
    // Whoever waits does so for somebody, who waits for somebody, and so on to one who does not.
    void check_for_a_circle() {
        bool waits = false;
        for (const user& who : users_) {
            if (who.is == user::doing::waiting) waits = true;
            if (who.is != user::doing::waiting && who.is != user::doing::nothing) return;
        }
        if (waits) fail("all wait for each other");
    }
    void fail(const char* what) {
        if (wrong_.empty()) wrong_ = what;
    }
    user& any_user() { return users_[dice_.below(users_.size())]; }

    dice dice_;
    calendar times_;
    const order taken_;
    const std::uint64_t salt_;
    std::vector<std::unique_ptr<name_judge<State>>> judges_;
    std::array<user, 4> users_{};
    bool closing_ = false;
    std::uint64_t last_id_ = 0;
    std::string wrong_;
    record log_;
};

}  // namespace mortise::testing::histories
