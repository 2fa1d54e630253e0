#include "locks/owned.hpp"

#include "core/calling_back.hpp"
#include "core/engine.hpp"
#include "locks/said_at_unlock.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::locks {

bool outcome::just_busy() const noexcept {
    return code == errc::busy || code == errc::timed_out || code == errc::would_deadlock;
}

void outcome::or_throw() const {
    if (code) throw error(code, detail);
}

bool outcome::or_busy() const {
    if (code && !just_busy()) or_throw();
    return !code;
}

bool outcome::or_busy(std::error_code& ec) const noexcept {
    ec = just_busy() ? std::error_code{} : code;
    return !code;
}

owned::owned(client& locks, std::string_view name, claim_options options, std::uint32_t capacity, nesting when_held)
    : engine_(core::access::engine_of(locks)),
      frames_(core::access::frames_of(locks)),
      nesting_(when_held),
      claim_{.name = std::string(name), .capacity = capacity, .weight = capacity, .options = std::move(options)},
      place_(claim_.name) {
    engine_->check(claim_);
}

owned::~owned() {
    if (engine_->forked()) {
        new std::shared_ptr<core::reentry>(frames_);  // the parent's: leaked, not closed
        return;
    }
    if (inside_.load() > 0) frames_->extract_through(this);  // destroying the holds releases them
}

outcome owned::lock(core::owner_key who, wait_for wait, std::uint32_t weight) {
    if (engine_->forked()) return say(errc::forked);
    if (core::reentry::frame* frame = frames_->find(place_, who)) return enter_again(*frame);
    claim wanted = claim_;
    wanted.weight = weight;
    wanted.options.wait = wait;
    attempt got = engine_->acquire(std::move(wanted), {who, frames_.get()});
    if (!got) return {got.reason(), got.refusal().describe()};
    frames_->insert(place_, who, {*std::move(got), this, 1, weight, nesting_ == nesting::counted});
    inside_.fetch_add(1);
    return {};
}

outcome owned::exchange(core::owner_key who, wait_for wait, std::uint32_t weight,
                        std::initializer_list<std::uint32_t> from) {
    if (engine_->forked()) return say(errc::forked);
    core::reentry::frame* frame = frames_->find(place_, who);
    if (frame == nullptr) return say(errc::not_owner, "this owner has not locked it");
    if (frame->weight == weight) return {};
    if (std::find(from.begin(), from.end(), frame->weight) == from.end())
        return say(errc::would_deadlock,
                   "a plain read cannot be upgraded: two would wait for each other; "
                   "lock_upgradeable instead");
    if (!engine_->store().promises().upgrades)
        return say(errc::unsupported, "the " + engine_->store().promises().store +
                                          " store does not promise upgrades; unlock, then lock anew");
    claim wanted = claim_;
    wanted.weight = weight;
    wanted.options.wait = wait;
    attempt got = engine_->acquire(std::move(wanted), {who, frames_.get()}, core::claimant::of(frame->hold));
    if (!got) return {got.reason(), got.refusal().describe()};
    frames_->replace(*frame, place_, who, *std::move(got), weight);
    return {};
}

one_call owned::call(std::uint32_t weight, const wait_options& how) const {
    one_call mine{claim_, how};
    mine.wanted().weight = weight;
    return mine;
}

attempt owned::acquire(std::uint32_t weight, const wait_options& how) const {
    return call(weight, how).acquire(*engine_);
}

void owned::start(std::uint32_t weight, const wait_options& how, unique_function<void(attempt)> done) const {
    core::check_completion(done);
    call(weight, how).start(*engine_, core::on_notifier(*engine_, std::move(done)));
}

std::optional<refusal> owned::objection(const mortise::hold& old, std::uint32_t weight,
                                        std::initializer_list<std::uint32_t> from) const {
    const auto no = [&](errc why, const std::string& what) { return engine_->refuse(why, name(), what); };
    if (engine_->forked()) return no(errc::forked, {});
    const auto& held = core::claimant::of(old);
    if (!held) return no(errc::not_owner, "an empty hold cannot become another");
    const core::claim_terms& terms = held->cohort->terms;
    if (held->cohort->home != engine_) return no(errc::not_owner, "the hold belongs to another client");
    if (terms.name != name()) return no(errc::not_owner, "the hold is of another lock, '" + terms.name + "'");
    if (terms.capacity != claim_.capacity) return no(errc::kind_mismatch, "the hold is not of a shared_mutex");
    if (terms.weight == weight) return no(errc::invalid_option, "the hold is of that kind already");
    if (std::find(from.begin(), from.end(), terms.weight) == from.end())
        return no(
            errc::would_deadlock,
            weight == claim_.capacity
                ? "a plain read cannot be upgraded: two would wait for each other; take an upgradeable one instead"
                : "a plain read cannot become an upgradeable one: two would wait for each other");
    if (!engine_->store().promises().upgrades)
        return no(errc::unsupported, "the " + engine_->store().promises().store +
                                         " store does not promise upgrades; release, then acquire anew");
    return std::nullopt;
}

attempt owned::exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                        std::initializer_list<std::uint32_t> from) const {
    if (auto no = objection(old, weight, from)) return *std::move(no);
    return call(weight, how).acquire(*engine_, core::claimant::of(old));
}

void owned::start_exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                           std::initializer_list<std::uint32_t> from, unique_function<void(attempt)> done) const {
    core::check_completion(done);
    auto told = core::on_notifier(*engine_, std::move(done));
    if (auto no = objection(old, weight, from)) return told(*std::move(no));
    call(weight, how).start(*engine_, std::move(told), core::claimant::of(old));
}

outcome owned::enter_again(core::reentry::frame& frame) {
    if (!frame.hold.valid())
        return say(errc::lost, "this owner's hold has ended; unlock what was locked, then lock anew");
    if (nesting_ != nesting::counted || !frame.recursive)
        return say(errc::would_deadlock, "this owner holds it already; use recursive_mutex throughout to nest");
    ++frame.depth;
    engine_->renew_early(*core::claimant::of(frame.hold));
    return {};
}

outcome owned::say(errc why, const std::string& what) const {
    return {why, engine_->refuse(why, name(), what).detail};
}

std::error_code owned::unlock(core::owner_key who) noexcept {
    if (engine_->forked()) return errc::forked;
    core::reentry::departure left = frames_->leave(place_, who);
    if (core::reentry::frame* outer = left.inside) {
        if (!outer->hold.valid()) return errc::lost;
        engine_->renew_early(*core::claimant::of(outer->hold));
        return {};
    }
    if (!left.last) {
        engine_->emit(event_kind::released, name(), {}, errc::not_owner);
        return errc::not_owner;
    }
    if (left.last->through == this) inside_.fetch_sub(1);
    std::error_code ec;
    const release_result freed = left.last->hold.release(ec);
    return said_at_unlock(freed, ec);
}

std::error_code owned::unlock(core::owner_key who, std::uint32_t weight) noexcept {
    if (engine_->forked()) return errc::forked;
    const core::reentry::frame* frame = frames_->find(place_, who);
    if (frame != nullptr && frame->weight == weight) return unlock(who);
    engine_->emit(event_kind::released, name(), {}, errc::not_owner);
    return errc::not_owner;
}

const mortise::hold& owned::hold(core::owner_key who) const {
    if (engine_->forked()) say(errc::forked).or_throw();
    const core::reentry::frame* frame = frames_->find(place_, who);
    if (frame == nullptr) say(errc::not_owner, "this owner has not locked it").or_throw();
    return frame->hold;
}

}  // namespace mortise::inline v0::locks
