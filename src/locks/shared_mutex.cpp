#include "locks/owned_lock.hpp"

#include <mortise/shared_mutex.hpp>

namespace mortise::inline v0 {
namespace {

// Of the whole: any number of readers fit, one upgradeable read fits beside them, two do not, and a writer needs it all.
constexpr std::uint32_t all = core::shared_capacity;
constexpr std::uint32_t read = 1;
constexpr std::uint32_t upgradeable_read = all / 2 + 1;

enum class way : unsigned char { reading, upgradeable, writing };

constexpr std::chrono::nanoseconds no_wait{0};

wait_options at_once_unless_told(wait_options how) {
    if (!how.wait) how.wait = no_wait;
    return how;
}

}  // namespace

struct shared_mutex::body : locks::owned_lock {
    using owned_lock::owned_lock;

    static std::uint32_t weight(way in) {
        return in == way::reading ? read : in == way::upgradeable ? upgradeable_read : all;
    }
    locks::lock_reply take(way in, wait_for wait) { return lock(core::this_thread_key(), wait, weight(in)); }
    bool try_take(way in, std::chrono::nanoseconds wait) { return take(in, wait).or_busy(); }
    // Down is always safe; up, only from an upgradeable read.
    template <class Exchange>
    static auto step_to(way in, Exchange exchange) {
        switch (in) {
            case way::writing:
                return exchange(all, {upgradeable_read});
            case way::upgradeable:
                return exchange(upgradeable_read, {all});
            case way::reading:
                break;
        }
        return exchange(read, {all, upgradeable_read});
    }
    using weights = std::initializer_list<std::uint32_t>;
    locks::lock_reply become(way in, wait_for wait) {
        return step_to(
            in, [&](std::uint32_t to, weights from) { return exchange(core::this_thread_key(), wait, to, from); });
    }
    attempt become(way in, const mortise::hold& old, const wait_options& how) const {
        return step_to(in, [&](std::uint32_t to, weights from) { return exchange(old, how, to, from); });
    }
    void start_becoming(way in, const mortise::hold& old, const wait_options& how, client::completion done) const {
        step_to(in, [&](std::uint32_t to, weights from) { start_exchange(old, how, to, from, std::move(done)); });
    }
    std::error_code leave(way in) noexcept { return unlock(core::this_thread_key(), weight(in)); }
};

shared_mutex::shared_mutex(client& locks, std::string_view name, claim_options options)
    : body_(std::make_unique<body>(locks, name, std::move(options), all, locks::nesting::refused)) {}
shared_mutex::~shared_mutex() = default;

void shared_mutex::lock() {
    body_->take(way::writing, std::nullopt).or_throw();
}
void shared_mutex::lock(std::error_code& ec) {
    ec = body_->take(way::writing, std::nullopt).code;
}
bool shared_mutex::try_lock() {
    return body_->try_take(way::writing, no_wait);
}
bool shared_mutex::try_lock(std::error_code& ec) {
    return body_->take(way::writing, no_wait).or_busy(ec);
}
bool shared_mutex::try_lock_for(detail::any_duration wait) {
    return body_->try_take(way::writing, wait.left);
}
bool shared_mutex::try_lock_until(detail::any_time_point deadline) {
    return body_->try_take(way::writing, deadline.left);
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
    return body_->try_take(way::reading, no_wait);
}
bool shared_mutex::try_lock_shared(std::error_code& ec) {
    return body_->take(way::reading, no_wait).or_busy(ec);
}
bool shared_mutex::try_lock_shared_for(detail::any_duration wait) {
    return body_->try_take(way::reading, wait.left);
}
bool shared_mutex::try_lock_shared_until(detail::any_time_point deadline) {
    return body_->try_take(way::reading, deadline.left);
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
    return body_->try_take(way::upgradeable, no_wait);
}
bool shared_mutex::try_lock_upgradeable(std::error_code& ec) {
    return body_->take(way::upgradeable, no_wait).or_busy(ec);
}
bool shared_mutex::try_lock_upgradeable_for(detail::any_duration wait) {
    return body_->try_take(way::upgradeable, wait.left);
}
bool shared_mutex::try_lock_upgradeable_until(detail::any_time_point deadline) {
    return body_->try_take(way::upgradeable, deadline.left);
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
    return try_upgrade_for(no_wait);
}
bool shared_mutex::try_upgrade(std::error_code& ec) {
    const locks::lock_reply got = body_->become(way::writing, no_wait);
    if (got.code != errc::would_deadlock) return got.or_busy(ec);
    ec = got.code;  // it will never do
    return false;
}
bool shared_mutex::try_upgrade_for(detail::any_duration wait) {
    const locks::lock_reply got = body_->become(way::writing, wait.left);
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

hold shared_mutex::acquire(const wait_options& how) {
    return body_->acquire(all, how).value();
}
hold shared_mutex::acquire_shared(const wait_options& how) {
    return body_->acquire(read, how).value();
}
hold shared_mutex::acquire_upgradeable(const wait_options& how) {
    return body_->acquire(upgradeable_read, how).value();
}
attempt shared_mutex::try_acquire(const wait_options& how) {
    return body_->acquire(all, at_once_unless_told(how));
}
attempt shared_mutex::try_acquire_shared(const wait_options& how) {
    return body_->acquire(read, at_once_unless_told(how));
}
attempt shared_mutex::try_acquire_upgradeable(const wait_options& how) {
    return body_->acquire(upgradeable_read, at_once_unless_told(how));
}
void shared_mutex::start(const wait_options& how, client::completion done) {
    body_->start(all, how, std::move(done));
}
void shared_mutex::start_shared(const wait_options& how, client::completion done) {
    body_->start(read, how, std::move(done));
}
void shared_mutex::start_upgradeable(const wait_options& how, client::completion done) {
    body_->start(upgradeable_read, how, std::move(done));
}

hold shared_mutex::upgrade(const mortise::hold& reading, const wait_options& how) {
    return body_->become(way::writing, reading, how).value();
}
attempt shared_mutex::try_upgrade(const mortise::hold& reading, const wait_options& how) {
    return body_->become(way::writing, reading, at_once_unless_told(how));
}
void shared_mutex::start_upgrade(const mortise::hold& reading, const wait_options& how, client::completion done) {
    body_->start_becoming(way::writing, reading, how, std::move(done));
}
hold shared_mutex::downgrade(const mortise::hold& writing) {
    return body_->become(way::upgradeable, writing, {}).value();
}
void shared_mutex::start_downgrade(const mortise::hold& writing, client::completion done) {
    body_->start_becoming(way::upgradeable, writing, {}, std::move(done));
}
hold shared_mutex::downgrade_to_shared(const mortise::hold& more) {
    return body_->become(way::reading, more, {}).value();
}
void shared_mutex::start_downgrade_to_shared(const mortise::hold& more, client::completion done) {
    body_->start_becoming(way::reading, more, {}, std::move(done));
}

const hold& shared_mutex::hold() const {
    return body_->hold(core::this_thread_key());
}
const std::string& shared_mutex::name() const noexcept {
    return body_->name();
}

}  // namespace mortise::inline v0
