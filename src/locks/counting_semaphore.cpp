#include "core/engine.hpp"
#include "locks/lock_call.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace mortise::inline v0 {

struct counting_semaphore::body {
    body(client& locks, std::string_view name, std::ptrdiff_t permits, claim_options options)
        : engine(core::access::engine_of(locks)), wanted{.name = std::string(name), .options = std::move(options)} {
        wanted.options.order = order::fifo;
        wanted.options.wait.reset();
        engine->policy().check(wanted);  // the name first: what is said of the numbers quotes it
        if (permits < 1 || permits > most)
            complain(std::to_string(permits) + " permits: use 1 to " + std::to_string(most));
        wanted.capacity = static_cast<std::uint32_t>(permits);
        engine->policy().check(wanted);
    }
    ~body() {
        if (engine->forked()) new std::shared_ptr<core::engine>(engine);  // the parent's: leaked, not closed
    }
    body(const body&) = delete;
    body& operator=(const body&) = delete;

    locks::lock_call call(std::ptrdiff_t count, const wait_options& how) const {
        if (count < 1 || count > wanted.capacity)
            complain(std::to_string(count) + " permits of " + std::to_string(wanted.capacity) + ": use 1 to " +
                     std::to_string(wanted.capacity));
        locks::lock_call mine{wanted, how};
        mine.wanted().weight = static_cast<std::uint32_t>(count);
        return mine;
    }
    attempt acquire(std::ptrdiff_t count, std::optional<std::chrono::nanoseconds> wait) const {
        return call(count, {.wait = wait}).acquire(*engine);
    }

    [[noreturn]] void complain(const std::string& what) const {
        throw error(errc::invalid_option, engine->policy().refuse(errc::invalid_option, wanted.name, what).detail);
    }

    static constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 31;

    const std::shared_ptr<core::engine> engine;
    claim wanted;
};

counting_semaphore::counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t permits,
                                       claim_options options)
    : body_(std::make_unique<body>(locks, name, permits, std::move(options))) {}
counting_semaphore::~counting_semaphore() = default;

hold counting_semaphore::acquire(std::ptrdiff_t count) {
    return body_->acquire(count, std::nullopt).value();
}
hold counting_semaphore::acquire(std::error_code& ec) {
    return acquire(1, ec);
}
hold counting_semaphore::acquire(std::ptrdiff_t count, std::error_code& ec) {
    ec.clear();
    try {
        attempt got = body_->acquire(count, std::nullopt);
        ec = got.reason();
        return got ? *std::move(got) : hold{};
    } catch (const error& e) {
        ec = e.code();
        return {};
    }
}
attempt counting_semaphore::try_acquire(std::ptrdiff_t count) {
    return body_->acquire(count, std::chrono::nanoseconds::zero());
}
attempt counting_semaphore::try_acquire_for(detail::any_duration wait) {
    return body_->acquire(1, wait.left);
}
attempt counting_semaphore::try_acquire_for(std::ptrdiff_t count, detail::any_duration wait) {
    return body_->acquire(count, wait.left);
}
attempt counting_semaphore::try_acquire_until(detail::any_time_point deadline) {
    return body_->acquire(1, deadline.left);
}
attempt counting_semaphore::try_acquire_until(std::ptrdiff_t count, detail::any_time_point deadline) {
    return body_->acquire(count, deadline.left);
}

void counting_semaphore::start(std::ptrdiff_t count, const wait_options& how, client::completion done) {
    core::check_completion(done);
    body_->call(count, how).start(*body_->engine, core::on_notifier(body_->engine->notifications(), std::move(done)));
}

std::ptrdiff_t counting_semaphore::permits() const noexcept {
    return body_->wanted.capacity;
}
const std::string& counting_semaphore::name() const noexcept {
    return body_->wanted.name;
}

}  // namespace mortise::inline v0
