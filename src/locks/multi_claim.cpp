#include "locks/multi_claim.hpp"

#include "locks/multi_hold.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <compare>
#include <tuple>
#include <utility>

namespace mortise::inline v0::locks {
namespace {

using std::chrono::nanoseconds;

bool before(const std::unique_ptr<part>& a, const std::unique_ptr<part>& b) {
    const auto order = std::tie(a->address(), a->name()) <=> std::tie(b->address(), b->name());
    return order != 0 ? order < 0 : !a->engine->policy().addressed() && a->engine < b->engine;
}

}  // namespace

part::part(const client& locks, std::string_view name, const claim_options& options)
    : engine(core::access::engine_of(locks)),
      frames(core::access::frames_of(locks)),
      wanted{.name = std::string(name), .options = options},
      hashed_name(wanted.name) {
    wanted.options.wait.reset();
    engine->policy().check(wanted);
}

part::~part() {
    if (!engine->forked()) return;
    new std::shared_ptr<core::engine>(engine);  // the parent's: leaked, not closed
    new std::shared_ptr<core::reentry>(frames);
}

std::shared_ptr<const parts> in_order(parts given) {
    if (given.empty()) throw error(errc::invalid_option, "multi_lock without a name: give at least one");
    std::stable_sort(given.begin(), given.end(), before);
    const auto repeats =
        std::unique(given.begin(), given.end(), [](const auto& a, const auto& b) { return a->same_as(*b); });
    given.erase(repeats, given.end());
    return std::make_shared<const parts>(std::move(given));
}

countdown::countdown(const spi::clock& clock, std::optional<nanoseconds> wait) : clock_(clock), wait_(wait) {
    if (wait_ && *wait_ > nanoseconds::zero() && *wait_ < detail::for_ever) deadline_ = clock.now() + *wait_;
}

std::optional<nanoseconds> countdown::left() const {
    if (!deadline_) return wait_;
    return std::max(*deadline_ - clock_.now(), nanoseconds::zero());
}

std::error_code countdown::reason(std::error_code why) const {
    return deadline_ && why == errc::busy ? errc::timed_out : why;
}

multi_claim::multi_claim(std::shared_ptr<const parts> of, const wait_options& how, valid_while rule)
    : parts_(std::move(of)),
      rule_(rule),
      time_(parts_->front()->engine->clock(), how.wait),
      lock_stop_(parts_->front()->wanted.options.stop),
      call_stop_(how.stop),
      last_(parts_->front()->engine.get()) {
    stop_.add(lock_stop_);
    stop_.add(call_stop_);
    taken_.reserve(parts_->size());
}

core::engine& multi_claim::engine() const noexcept {
    return wants_more() ? *current().engine : *last_;
}

claim multi_claim::next() const {
    claim wanted = current().wanted;
    wanted.options.wait = time_.left();
    wanted.options.stop = stop_.token();
    return wanted;
}

const part* multi_claim::lost_one() const noexcept {
    for (std::size_t i = 0; i < taken_.size(); ++i)
        if (!taken_[i].valid()) return (*parts_)[i].get();
    return nullptr;
}

void multi_claim::refuse(refusal why, const part& at) {
    refused_.emplace(std::move(why), at.name());
}

void multi_claim::record(attempt answer) {
    const part& one = current();
    last_ = one.engine.get();
    const part* const lost = lost_one();
    const bool granted = static_cast<bool>(answer);
    if (granted && lost == nullptr) {
        try {
            taken_.push_back(*std::move(answer));
            if (parts_->size() > 1) stop_.add(taken_.back().lost());
        } catch (const error& e) {
            refuse({.reason = e.code(), .detail = e.what()}, one);
        }
        return;
    }
    const bool by_caller = lock_stop_.stop_requested() || call_stop_.stop_requested();
    const bool cut_short = answer.reason() == errc::cancelled && !by_caller;
    if (granted) taken_.push_back(*std::move(answer));
    if (lost != nullptr && (granted || cut_short))
        return refuse(
            lost->engine->policy().refuse(errc::lost, lost->name(), "it was lost while waiting for the other names"),
            *lost);
    refusal why = answer.refusal();
    if (const auto reason = time_.reason(why.reason); reason != why.reason) {
        why.detail = one.engine->policy().refuse(reason, one.name()).detail;
        why.reason = reason;
    }
    refuse(std::move(why), one);
}

std::optional<hold> multi_claim::next_to_release() {
    if (!refused_ || taken_.empty()) return std::nullopt;
    hold last = std::move(taken_.back());
    taken_.pop_back();
    return last;
}

multi_attempt multi_claim::answer() {
    if (refused_) return *std::move(refused_);
    const auto all = std::make_shared<multi_hold::state>(std::move(taken_), rule_);
    multi_hold together{all};
    try {
        multi_hold::state::watch(all);
    } catch (const error& e) {  // no thread to be had
        together.release();
        return {refusal{.reason = e.code(), .detail = e.what()}, parts_->front()->name()};
    }
    return together;
}

}  // namespace mortise::inline v0::locks
