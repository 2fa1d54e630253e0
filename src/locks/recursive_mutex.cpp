#include "locks/owned.hpp"

#include <mortise/recursive_mutex.hpp>

namespace mortise::inline v0 {

struct recursive_mutex::body : locks::owned {
    using owned::owned;
};

recursive_mutex::recursive_mutex(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options), 1, locks::nesting::counted)) {}
recursive_mutex::~recursive_mutex() = default;

void recursive_mutex::lock() {
    body_->lock_or_throw(core::this_thread_key());
}
void recursive_mutex::lock(std::error_code& ec) {
    body_->lock_or_say(core::this_thread_key(), ec);
}
void recursive_mutex::lock(const owner& who) {
    body_->lock_or_throw(who.id());
}
void recursive_mutex::lock(const owner& who, std::error_code& ec) {
    body_->lock_or_say(who.id(), ec);
}

bool recursive_mutex::try_lock() {
    return try_lock_within(nullptr, std::chrono::nanoseconds::zero());
}
bool recursive_mutex::try_lock(std::error_code& ec) {
    return body_->try_or_say(core::this_thread_key(), ec);
}
bool recursive_mutex::try_lock(const owner& who) {
    return try_lock_within(&who, std::chrono::nanoseconds::zero());
}
bool recursive_mutex::try_lock(const owner& who, std::error_code& ec) {
    return body_->try_or_say(who.id(), ec);
}
bool recursive_mutex::try_lock_within(const owner* who, std::chrono::nanoseconds wait) {
    return body_->try_or_throw(who != nullptr ? who->id() : core::this_thread_key(), wait);
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
