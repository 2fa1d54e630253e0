#include "locks/owned_lock.hpp"

#include <mortise/mutex.hpp>

namespace mortise::inline v0 {

struct mutex::body : locks::owned_lock {
    using owned_lock::owned_lock;
};

mutex::mutex(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options), 1, locks::nesting::refused)) {}
mutex::~mutex() = default;

void mutex::lock() {
    body_->lock_or_throw(core::this_thread_key());
}
void mutex::lock(std::error_code& ec) {
    body_->lock_or_report(core::this_thread_key(), ec);
}
bool mutex::try_lock() {
    return body_->try_or_throw(core::this_thread_key(), std::chrono::nanoseconds::zero());
}
bool mutex::try_lock(std::error_code& ec) {
    return body_->try_or_report(core::this_thread_key(), ec);
}
bool mutex::try_lock_for(detail::any_duration wait) {
    return body_->try_or_throw(core::this_thread_key(), wait.left);
}
bool mutex::try_lock_until(detail::any_time_point deadline) {
    return body_->try_or_throw(core::this_thread_key(), deadline.left);
}
void mutex::unlock() noexcept {
    body_->unlock(core::this_thread_key());
}
void mutex::unlock(std::error_code& ec) noexcept {
    ec = body_->unlock(core::this_thread_key());
}
const hold& mutex::hold() const {
    return body_->hold(core::this_thread_key());
}
const std::string& mutex::name() const noexcept {
    return body_->name();
}

}  // namespace mortise::inline v0
