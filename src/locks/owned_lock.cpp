#include "locks/owned_lock.hpp"

#include "core/engine.hpp"
#include "locks/unlock_error.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::locks {

bool lock_reply::just_busy() const noexcept {
    return code == errc::busy || code == errc::timed_out || code == errc::would_deadlock;
}

void lock_reply::or_throw() const {
    if (code) throw error(code, detail);
}

bool lock_reply::or_busy() const {
    if (code && !just_busy()) or_throw();
    return !code;
}

bool lock_reply::or_busy(std::error_code& ec) const noexcept {
    ec = just_busy() ? std::error_code{} : code;
    return !code;
}

kept_frames::kept_frames(bool reads_too)
    : reads_(reads_too ? std::make_unique<std::array<kept_frame, most_reads>>() : nullptr) {}

kept_frames::places::places(kept_frames& of, core::owner_key owner, bool whole) noexcept
    : of_(of),
      at_(owner / 2),
      left_(whole       ? 1
            : of.reads_ ? most_reads
                        : 0),
      whole_(whole) {}

kept_frame* kept_frames::places::next() noexcept {
    if (left_ == 0) return nullptr;
    --left_;
    return whole_ ? &of_.whole_ : &(*of_.reads_)[at_++ % most_reads];
}

void kept_frames::put(loose_frame fresh, core::owner_key owner, bool whole) {
    places all{*this, owner, whole};
    while (kept_frame* const place = fresh ? all.next() : nullptr) fresh = place->put(std::move(fresh));
}

void kept_frames::close() noexcept {
    whole_.close();
    if (!reads_) return;
    for (kept_frame& one : *reads_) one.close();
}

owned_lock::owned_lock(client& locks, std::string_view name, claim_options options, std::uint32_t capacity,
                       nesting when_held)
    : engine_(core::access::engine_of(locks)),
      frames_(core::access::frames_of(locks)),
      nesting_(when_held),
      claim_{.name = std::string(name), .capacity = capacity, .weight = capacity, .options = std::move(options)},
      settled_([&] {
          engine_->policy().check(claim_);
          return settled(capacity);
      }()),
      hashed_name_(claim_.name, settled_.terms->name_hash),
      kept_(std::make_shared<kept_frames>(core::reads(capacity, 1) && settled_.terms->keep_ms != 0)) {}

owned_lock::~owned_lock() {
    if (engine_->forked()) {
        new std::shared_ptr<core::reentry>(frames_);  // the parent's: leaked, not closed
        return;
    }
    kept_->close();
    if (inside_.load() > 0) frames_->extract_through(this);  // destroying the holds releases them
}

lock_reply owned_lock::lock(core::owner_key owner, wait_for wait, std::uint32_t weight) {
    if (engine_->forked()) return refuse(errc::forked);
    if (core::reentry::frame* frame = frames_->find(hashed_name_, owner)) return enter_again(*frame);
    if (take_again(owner, weight)) return {};
    const core::called_by by{owner, frames_.get()};
    attempt got =
        weight == claim_.capacity ? engine_->acquire(settled_, wait, by) : engine_->acquire(settled(weight), wait, by);
    if (!got) return {got.reason(), got.refusal().describe()};
    frames_->insert(hashed_name_, owner, {*std::move(got), this, 1, weight, nesting_ == nesting::counted});
    inside_.fetch_add(1, std::memory_order_relaxed);
    return {};
}

// Without a request: a grant that an unlock kept. What can no longer be taken is released.
bool owned_lock::take_again(core::owner_key owner, std::uint32_t weight) {
    const bool whole = weight == claim_.capacity;
    if ((!whole && !core::reads(claim_.capacity, weight)) || settled_.stop.stop_requested()) return false;
    kept_frames::places all{*kept_, owner, whole};
    while (kept_frame* const place = all.next()) {
        core::reentry::loose_frame kept = place->take();
        if (!kept || !engine_->take_again(*core::claimant::of(kept->at.hold))) continue;
        kept->at.depth = 1;
        frames_->insert(hashed_name_, owner, std::move(kept));
        return true;
    }
    return false;
}

lock_reply owned_lock::exchange(core::owner_key owner, wait_for wait, std::uint32_t weight,
                                std::initializer_list<std::uint32_t> from) {
    if (engine_->forked()) return refuse(errc::forked);
    core::reentry::frame* frame = frames_->find(hashed_name_, owner);
    if (frame == nullptr) return refuse(errc::not_owner, "this owner has not locked it");
    if (frame->weight == weight) return {};
    if (std::find(from.begin(), from.end(), frame->weight) == from.end())
        return refuse(errc::would_deadlock,
                      "a plain read cannot be upgraded: two would wait for each other; "
                      "lock_upgradeable instead");
    if (!engine_->store().promises().upgrades)
        return refuse(errc::unsupported, "the " + engine_->store().promises().store +
                                             " store does not promise upgrades; unlock, then lock anew");
    attempt got = engine_->acquire(settled(weight), wait, {owner, frames_.get()}, core::claimant::of(frame->hold));
    if (!got) return {got.reason(), got.refusal().describe()};
    frames_->replace(*frame, hashed_name_, owner, *std::move(got), weight);
    return {};
}

core::settled_claim owned_lock::settled(std::uint32_t weight) const {
    claim part = claim_;
    part.weight = weight;
    return engine_->policy().settled(part);
}

lock_call owned_lock::call(std::uint32_t weight, const wait_options& how) const {
    lock_call mine{claim_, how};
    mine.wanted().weight = weight;
    if (!mine.wanted().exclusive()) mine.wanted().options.keep.reset();
    return mine;
}

attempt owned_lock::acquire(std::uint32_t weight, const wait_options& how) const {
    return call(weight, how).acquire(*engine_);
}

void owned_lock::start(std::uint32_t weight, const wait_options& how, unique_function<void(attempt)> done) const {
    core::check_completion(done);
    call(weight, how).start(*engine_, core::on_notifier(engine_->notifications(), std::move(done)));
}

std::optional<refusal> owned_lock::objection(const mortise::hold& old, std::uint32_t weight,
                                             std::initializer_list<std::uint32_t> from) const {
    const auto no = [&](errc why, const std::string& what) { return engine_->policy().refuse(why, name(), what); };
    if (engine_->forked()) return no(errc::forked, {});
    const auto& held = core::claimant::of(old);
    if (!held) return no(errc::not_owner, "an empty hold cannot become another");
    const core::claim_terms& terms = held->cohort->terms;
    if (held->cohort->keeper != engine_) return no(errc::not_owner, "the hold belongs to another client");
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

attempt owned_lock::exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                             std::initializer_list<std::uint32_t> from) const {
    if (auto no = objection(old, weight, from)) return *std::move(no);
    return call(weight, how).acquire(*engine_, core::claimant::of(old));
}

void owned_lock::start_exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                                std::initializer_list<std::uint32_t> from, unique_function<void(attempt)> done) const {
    core::check_completion(done);
    auto told = core::on_notifier(engine_->notifications(), std::move(done));
    if (auto no = objection(old, weight, from)) return told(*std::move(no));
    call(weight, how).start(*engine_, std::move(told), core::claimant::of(old));
}

lock_reply owned_lock::enter_again(core::reentry::frame& frame) {
    if (!frame.hold.valid())
        return refuse(errc::lost, "this owner's hold has ended; unlock what was locked, then lock anew");
    if (nesting_ != nesting::counted || !frame.recursive)
        return refuse(errc::would_deadlock, "this owner holds it already; use recursive_mutex throughout to nest");
    ++frame.depth;
    engine_->renew_early(*core::claimant::of(frame.hold));
    return {};
}

lock_reply owned_lock::refuse(errc why, const std::string& what) const {
    return {why, engine_->policy().refuse(why, name(), what).detail};
}

std::error_code owned_lock::unlock(core::owner_key owner) noexcept {
    if (engine_->forked()) return errc::forked;
    core::reentry::departure left = frames_->leave(hashed_name_, owner);
    if (core::reentry::frame* outer = left.inside) {
        if (!outer->hold.valid()) return errc::lost;
        engine_->renew_early(*core::claimant::of(outer->hold));
        return {};
    }
    if (!left.last) {
        engine_->notifications().emit(event_kind::released, name(), {}, errc::not_owner);
        return errc::not_owner;
    }
    core::reentry::frame& last = left.last->at;
    if (last.through == this) {
        const std::shared_ptr<kept_frames> kept = kept_;
        const bool whole = last.weight == claim_.capacity;
        if (engine_->keep(*core::claimant::of(last.hold))) {  // from here on this object may be gone
            kept->put(std::move(left.last), owner, whole);
            return {};
        }
        inside_.fetch_sub(1, std::memory_order_relaxed);
    }
    std::error_code ec;
    const release_result result = last.hold.release(ec);
    return unlock_error(result, ec);
}

std::error_code owned_lock::unlock(core::owner_key owner, std::uint32_t weight) noexcept {
    if (engine_->forked()) return errc::forked;
    const core::reentry::frame* frame = frames_->find(hashed_name_, owner);
    if (frame != nullptr && frame->weight == weight) return unlock(owner);
    engine_->notifications().emit(event_kind::released, name(), {}, errc::not_owner);
    return errc::not_owner;
}

const mortise::hold& owned_lock::hold(core::owner_key owner) const {
    if (engine_->forked()) refuse(errc::forked).or_throw();
    const core::reentry::frame* frame = frames_->find(hashed_name_, owner);
    if (frame == nullptr) refuse(errc::not_owner, "this owner has not locked it").or_throw();
    return frame->hold;
}

}  // namespace mortise::inline v0::locks
