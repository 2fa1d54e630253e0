#include "core/lease.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {

lease::lease(const terms& agreed, spi::time_point counted_from)
    : life_(agreed.life ? std::max(*agreed.life, spi::duration{1}) : spi::duration::zero()),
      span_(std::clamp(agreed.grace.value_or(life_), spi::duration::zero(), life_)),
      margin_(std::min(agreed.margin, span_)),
      counted_from_(counted_from),
      renewed_(agreed.renewed && agreed.life) {
    if (renewed_) next_renewal_ = counted_from_ + span_ / 3;
}

lease::step lease::poll(spi::time_point now) {
    if (state_ == state::lost) return {};
    if (now >= deadline()) {
        state_ = state::lost;
        return {.lost = true};
    }
    if (now < next_renewal_) return {};
    const bool silent = std::exchange(unanswered_, true);  // the one before was never answered
    const bool worse = silent && state_ == state::held;
    if (silent) state_ = state::at_risk;
    next_renewal_ = now + span_ / 10;
    return {.renew = true, .at_risk = worse};
}

lease::step lease::answered(spi::renewal_answer answer, spi::time_point sent, spi::time_point now) {
    if (state_ == state::lost) return {};
    unanswered_ = false;
    switch (answer) {
        case spi::renewal_answer::renewed:
            if (sent > counted_from_) {
                counted_from_ = sent;
                span_ = life_;
                next_renewal_ = renewed_ ? sent + life_ / 3 : spi::time_point::max();
            }
            if (now >= deadline()) return poll(now);  // the reply took longer than the lease
            state_ = state::held;
            return {};
        case spi::renewal_answer::lost:
            return revoked();
        case spi::renewal_answer::unknown: {
            if (now >= deadline()) return poll(now);
            if (!renewed_) return {};
            const bool worse = state_ == state::held;
            state_ = state::at_risk;
            return {.at_risk = worse};
        }
    }
    return {};
}

bool lease::ask_early(spi::time_point now) {
    return !unanswered_ && ask_again(now);
}

bool lease::restart(spi::time_point now) {
    if (renewed_) return ask_early(now);
    return life_ != spi::duration::zero() && state_ != state::lost && now < deadline();
}

bool lease::ask_again(spi::time_point now) {
    if (!renewed_ || state_ == state::lost || now >= deadline()) return false;
    unanswered_ = true;
    next_renewal_ = now + span_ / 10;
    return true;
}

lease::step lease::revoked() {
    if (state_ == state::lost) return {};
    state_ = state::lost;
    return {.lost = true};
}

std::optional<spi::duration> lease::life() const noexcept {
    return life_ == spi::duration::zero() ? std::nullopt : std::optional{life_};
}

spi::duration lease::span() const noexcept {
    return life_ == spi::duration::zero() ? spi::duration::max() : span_;
}

spi::time_point lease::deadline() const noexcept {
    return life_ == spi::duration::zero() ? spi::time_point::max() : counted_from_ + span_ - margin_;
}

spi::time_point lease::may_join() const noexcept {
    const bool calm = renewed_ && state_ == state::held && !unanswered_;
    return calm ? std::min(due(), next_renewal_ - span_ / 30) : due();
}

spi::time_point lease::due() const noexcept {
    return state_ == state::lost ? spi::time_point::max() : std::min(deadline(), next_renewal_);
}

}  // namespace mortise::inline v0::core
