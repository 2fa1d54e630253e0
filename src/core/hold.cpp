#include "base/immortal.hpp"
#include "base/text.hpp"
#include "core/cohort.hpp"
#include "core/notifications.hpp"

#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <string>
#include <utility>

namespace mortise::inline v0 {
namespace {

const base::immortal<std::string> no_name;

}  // namespace

hold::hold() noexcept = default;
hold::hold(std::shared_ptr<core::claimant> granted) noexcept : granted_(std::move(granted)) {}
hold::hold(hold&&) noexcept = default;

hold& hold::operator=(hold&& other) noexcept {
    if (this != &other) {
        hold before{std::move(granted_)};
        granted_ = std::move(other.granted_);
    }
    return *this;
}

hold::~hold() {
    if (!granted_) return;
    core::hold_keeper& home = granted_->keeper();
    if (home.forked()) {
        new std::shared_ptr<core::claimant>(std::move(granted_));  // the parent's: leaked, not closed
        return;
    }
    home.drop(granted_);
}

bool hold::valid() const noexcept {
    return granted_ && granted_->valid();
}

boot_clock::time_point hold::valid_until() const noexcept {
    return granted_ ? granted_->valid_until() : boot_clock::time_point::min();
}

std::chrono::nanoseconds hold::remaining() const noexcept {
    const auto until = valid_until();
    if (until == boot_clock::time_point::min()) return std::chrono::nanoseconds::zero();
    if (until == boot_clock::time_point::max()) return std::chrono::nanoseconds::max();
    return std::max(until - granted_->keeper().clock().now(), std::chrono::nanoseconds::zero());
}

std::stop_token hold::lost() const {
    if (!granted_ || granted_->keeper().forked()) return {};
    return granted_->keeper().lost_token(*granted_);
}

void hold::on_lost(unique_function<void()> fn) {
    if (granted_ && !granted_->keeper().forked()) granted_->keeper().on_lost(granted_, std::move(fn));
}

token hold::token() const {
    std::error_code ec;
    const mortise::token mine = token(ec);
    if (ec) throw error(ec, granted_ ? "token of lock " + base::quoted(name()) : "token of an empty hold");
    return mine;
}

token hold::token(std::error_code& ec) const noexcept {
    ec.clear();
    if (!granted_) {
        ec = errc::not_owner;
    } else if (granted_->keeper().forked()) {
        ec = errc::forked;
    } else if (granted_->cohort->counter == 0) {
        ec = errc::no_token;
    } else {
        return granted_->token();
    }
    return {};
}

const std::string& hold::name() const noexcept {
    return granted_ ? granted_->cohort->terms.name : no_name.value;
}

claim_id hold::id() const noexcept {
    return granted_ && granted_->cohort->terms.detached ? granted_->cohort->id : claim_id{};
}

release_result hold::release() noexcept {
    std::error_code ignored;
    return release(ignored);
}

release_result hold::release(std::error_code& ec) noexcept {
    if (granted_) return granted_->keeper().release(granted_, ec);
    ec = errc::not_owner;
    return release_result::unknown;
}

void hold::start_release(release_completion done) {
    core::check_completion(done);
    if (!granted_) return done(release_result::unknown, errc::not_owner);
    core::hold_keeper& home = granted_->keeper();
    home.start_release(granted_, core::on_notifier(home.notifications(), std::move(done)));
}

hold::operator bool() const noexcept {
    return granted_ && granted_->is.load() == core::claimant::phase::holding && !granted_->keeper().forked();
}

}  // namespace mortise::inline v0
