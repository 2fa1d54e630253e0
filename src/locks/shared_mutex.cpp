#include "locks/owned.hpp"

#include <mortise/shared_mutex.hpp>

namespace mortise::inline v0 {
namespace {

// Of the whole: any number of readers fit, one upgradeable read fits beside them, two do not, and a writer needs it all.
constexpr std::uint32_t all = std::uint32_t{1} << 31;
constexpr std::uint32_t read = 1;
constexpr std::uint32_t upgradeable_read = all / 2 + 1;

constexpr std::chrono::nanoseconds no_wait{0};

}  // namespace

struct shared_mutex::body : locks::owned {
    using owned::owned;

    static std::uint32_t weight(way in) {
        return in == way::reading ? read : in == way::upgradeable ? upgradeable_read : all;
    }
    locks::outcome take(way in, wait_for wait) { return lock(core::this_thread_key(), wait, weight(in)); }
    locks::outcome become(way in, wait_for wait) {
        const auto me = core::this_thread_key();
        switch (in) {  // down is always safe; up, only from an upgradeable read
            case way::writing:
                return exchange(me, wait, all, {upgradeable_read});
            case way::upgradeable:
                return exchange(me, wait, upgradeable_read, {all});
            case way::reading:
                break;
        }
        return exchange(me, wait, read, {all, upgradeable_read});
    }
    std::error_code leave(way in) noexcept { return unlock(core::this_thread_key(), weight(in)); }
};

shared_mutex::shared_mutex(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options), all, locks::nesting::refused)) {}
shared_mutex::~shared_mutex() = default;

bool shared_mutex::try_within(way in, std::chrono::nanoseconds wait) {
    return body_->take(in, wait).or_busy();
}

void shared_mutex::lock() {
    body_->take(way::writing, std::nullopt).or_throw();
}
void shared_mutex::lock(std::error_code& ec) {
    ec = body_->take(way::writing, std::nullopt).code;
}
bool shared_mutex::try_lock() {
    return try_within(way::writing, no_wait);
}
bool shared_mutex::try_lock(std::error_code& ec) {
    return body_->take(way::writing, no_wait).or_busy(ec);
}
void shared_mutex::unlock() noexcept {
    body_->leave(way::writing);
}
void shared_mutex::unlock(std::error_code& ec) noexcept {
    ec = body_->leave(way::writing);
}

void shared_mutex::lock_shared() {
    body_->take(way::reading, std::nullopt).or_throw();
}
void shared_mutex::lock_shared(std::error_code& ec) {
    ec = body_->take(way::reading, std::nullopt).code;
}
bool shared_mutex::try_lock_shared() {
    return try_within(way::reading, no_wait);
}
bool shared_mutex::try_lock_shared(std::error_code& ec) {
    return body_->take(way::reading, no_wait).or_busy(ec);
}
void shared_mutex::unlock_shared() noexcept {
    body_->leave(way::reading);
}
void shared_mutex::unlock_shared(std::error_code& ec) noexcept {
    ec = body_->leave(way::reading);
}

void shared_mutex::lock_upgradeable() {
    body_->take(way::upgradeable, std::nullopt).or_throw();
}
void shared_mutex::lock_upgradeable(std::error_code& ec) {
    ec = body_->take(way::upgradeable, std::nullopt).code;
}
bool shared_mutex::try_lock_upgradeable() {
    return try_within(way::upgradeable, no_wait);
}
bool shared_mutex::try_lock_upgradeable(std::error_code& ec) {
    return body_->take(way::upgradeable, no_wait).or_busy(ec);
}
void shared_mutex::unlock_upgradeable() noexcept {
    body_->leave(way::upgradeable);
}
void shared_mutex::unlock_upgradeable(std::error_code& ec) noexcept {
    ec = body_->leave(way::upgradeable);
}

void shared_mutex::upgrade() {
    body_->become(way::writing, std::nullopt).or_throw();
}
void shared_mutex::upgrade(std::error_code& ec) {
    ec = body_->become(way::writing, std::nullopt).code;
}
bool shared_mutex::try_upgrade() {
    return try_upgrade_within(no_wait);
}
bool shared_mutex::try_upgrade(std::error_code& ec) {
    const locks::outcome got = body_->become(way::writing, no_wait);
    if (got.code != errc::would_deadlock) return got.or_busy(ec);
    ec = got.code;  // it will never do
    return false;
}
bool shared_mutex::try_upgrade_within(std::chrono::nanoseconds wait) {
    const locks::outcome got = body_->become(way::writing, wait);
    if (got.code == errc::would_deadlock) got.or_throw();
    return got.or_busy();
}

void shared_mutex::downgrade() {
    body_->become(way::upgradeable, std::nullopt).or_throw();
}
void shared_mutex::downgrade(std::error_code& ec) {
    ec = body_->become(way::upgradeable, std::nullopt).code;
}
void shared_mutex::downgrade_to_shared() {
    body_->become(way::reading, std::nullopt).or_throw();
}
void shared_mutex::downgrade_to_shared(std::error_code& ec) {
    ec = body_->become(way::reading, std::nullopt).code;
}

const hold& shared_mutex::hold() const {
    return body_->hold(core::this_thread_key());
}
const std::string& shared_mutex::name() const noexcept {
    return body_->name();
}

}  // namespace mortise::inline v0
