#include "locks/owned_lock.hpp"

#include <mortise/recursive_mutex.hpp>

namespace mortise::inline v0 {

struct recursive_mutex::body : locks::owned_lock {
    using owned_lock::owned_lock;
};

recursive_mutex::recursive_mutex(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options), 1, locks::nesting::counted)) {}
recursive_mutex::~recursive_mutex() = default;

void recursive_mutex::lock() {
    body_->lock_or_throw(core::this_thread_key());
}
void recursive_mutex::lock(std::error_code& ec) {
    body_->lock_or_report(core::this_thread_key(), ec);
}
void recursive_mutex::lock(const owner& who) {
    body_->lock_or_throw(who.id());
}
void recursive_mutex::lock(const owner& who, std::error_code& ec) {
    body_->lock_or_report(who.id(), ec);
}

bool recursive_mutex::try_lock() {
    return body_->try_or_throw(core::this_thread_key(), std::chrono::nanoseconds::zero());
}
bool recursive_mutex::try_lock(std::error_code& ec) {
    return body_->try_or_report(core::this_thread_key(), ec);
}
bool recursive_mutex::try_lock(const owner& who) {
    return body_->try_or_throw(who.id(), std::chrono::nanoseconds::zero());
}
bool recursive_mutex::try_lock(const owner& who, std::error_code& ec) {
    return body_->try_or_report(who.id(), ec);
}
bool recursive_mutex::try_lock_for(detail::any_duration wait) {
    return body_->try_or_throw(core::this_thread_key(), wait.left);
}
bool recursive_mutex::try_lock_for(const owner& who, detail::any_duration wait) {
    return body_->try_or_throw(who.id(), wait.left);
}
bool recursive_mutex::try_lock_until(detail::any_time_point deadline) {
    return body_->try_or_throw(core::this_thread_key(), deadline.left);
}
bool recursive_mutex::try_lock_until(const owner& who, detail::any_time_point deadline) {
    return body_->try_or_throw(who.id(), deadline.left);
}

void recursive_mutex::unlock() noexcept {
    body_->unlock(core::this_thread_key());
}
void recursive_mutex::unlock(std::error_code& ec) noexcept {
    ec = body_->unlock(core::this_thread_key());
}
void recursive_mutex::unlock(const owner& who) noexcept {
    body_->unlock(who.id());
}
void recursive_mutex::unlock(const owner& who, std::error_code& ec) noexcept {
    ec = body_->unlock(who.id());
}

const hold& recursive_mutex::hold() const {
    return body_->hold(core::this_thread_key());
}
const hold& recursive_mutex::hold(const owner& who) const {
    return body_->hold(who.id());
}
const std::string& recursive_mutex::name() const noexcept {
    return body_->name();
}

}  // namespace mortise::inline v0
