#include "locks/exclusive.hpp"

#include "core/engine.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::locks {

bool outcome::just_busy() const noexcept {
    return code == errc::busy || code == errc::timed_out || code == errc::would_deadlock;
}

void outcome::or_throw() const {
    if (code) throw error(code, detail);
}

exclusive::exclusive(client& locks, std::string_view name, claim_options options, nesting when_held)
    : engine_(core::access::engine_of(locks)),
      frames_(core::access::frames_of(locks)),
      nesting_(when_held),
      claim_{.name = std::string(name), .options = std::move(options)},
      place_(claim_.name) {
    engine_->check(claim_);
}

exclusive::~exclusive() {
    if (engine_->forked()) {
        new std::shared_ptr<core::reentry>(frames_);  // the parent's: leaked, not closed
        return;
    }
    if (inside_.load() > 0) frames_->extract_through(this);  // destroying the holds releases them
}

outcome exclusive::lock(core::owner_key who, std::optional<std::chrono::nanoseconds> wait) {
    if (engine_->forked()) return say(errc::forked);
    if (core::reentry::frame* frame = frames_->find(place_, who)) return enter_again(*frame);
    claim wanted = claim_;
    wanted.options.wait = wait;
    attempt got = engine_->acquire(std::move(wanted));
    if (!got) return {got.reason(), got.refusal().describe()};
    frames_->insert(place_, who, {*std::move(got), this, 1, nesting_ == nesting::counted});
    inside_.fetch_add(1);
    return {};
}

outcome exclusive::enter_again(core::reentry::frame& frame) {
    if (!frame.hold.valid())
        return say(errc::lost, "this owner's hold has ended; unlock what was locked, then lock anew");
    if (nesting_ != nesting::counted || !frame.recursive)
        return say(errc::would_deadlock, "this owner holds it already; use recursive_mutex throughout to nest");
    ++frame.depth;
    engine_->renew_early(*core::claimant::of(frame.hold));
    return {};
}

outcome exclusive::say(errc why, const std::string& what) const {
    return {why, engine_->refuse(why, name(), what).detail};
}

std::error_code exclusive::unlock(core::owner_key who) noexcept {
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
    switch (left.last->hold.release(ec)) {
        case release_result::released:
            return {};
        case release_result::expired:
        case release_result::taken_over:
            return errc::lost;
        case release_result::unknown:
            break;
    }
    return ec;
}

const mortise::hold& exclusive::hold(core::owner_key who) const {
    if (engine_->forked()) say(errc::forked).or_throw();
    const core::reentry::frame* frame = frames_->find(place_, who);
    if (frame == nullptr) say(errc::not_owner, "this owner has not locked it").or_throw();
    return frame->hold;
}

void exclusive::lock_or_throw(core::owner_key who) {
    lock(who, std::nullopt).or_throw();
}

void exclusive::lock_or_say(core::owner_key who, std::error_code& ec) {
    ec = lock(who, std::nullopt).code;
}

bool exclusive::try_or_throw(core::owner_key who, std::chrono::nanoseconds wait) {
    const outcome got = lock(who, wait);
    if (!got && !got.just_busy()) got.or_throw();
    return static_cast<bool>(got);
}

bool exclusive::try_or_say(core::owner_key who, std::error_code& ec) {
    const outcome got = lock(who, std::chrono::nanoseconds::zero());
    ec = got.just_busy() ? std::error_code{} : got.code;
    return static_cast<bool>(got);
}

}  // namespace mortise::inline v0::locks
