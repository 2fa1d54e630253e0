// What the user hears, and where: events and callbacks on the notifier thread.
#pragma once

#include "core/event_sink.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/observer.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace mortise::inline v0::core {

// Nothing that a user's callback throws gets out of it.
template <class Call>
void call_guarded(Call&& call) noexcept {
    try {
        call();
    } catch (...) {
    }
}

class notifications final : public event_sink, public std::enable_shared_from_this<notifications> {
public:
    notifications(std::shared_ptr<spi::clock> clock, std::shared_ptr<spi::notifier> notifier,
                  std::shared_ptr<mortise::observer> observer, std::uint64_t generation);

    // Runs `what` on the notifier thread. False: it cannot (after fork, or when the machine has no thread to give).
    bool post(spi::task what) noexcept;

    // Starts the thread where a failure can be told; throws errc::exhausted or closed.
    void start_thread();

    void emit(event_kind kind, const std::string& name, token t = {}, std::error_code reason = {},
              spi::duration took = {}) noexcept override;

private:
    const std::shared_ptr<spi::clock> clock_;
    const std::shared_ptr<spi::notifier> notifier_;
    const std::shared_ptr<mortise::observer> observer_;
    const std::uint64_t generation_;
    std::atomic<std::size_t> unseen_events_{0};
    std::atomic<std::uint64_t> dropped_events_{0};
};

template <class... Results>
void check_completion(const unique_function<void(Results...)>& done) {
    if (!done) throw error(errc::invalid_option, "the completion is empty; give one that can be called");
}

// `done`, moved to the notifier thread; on the completing thread if the notifier cannot run it. What it throws is swallowed.
// `to` must be alive when it is called.
template <class... Results>
unique_function<void(Results...)> on_notifier(notifications& to, unique_function<void(Results...)> done) {
    return [&to, done = std::move(done)](Results... results) mutable {
        struct job {
            unique_function<void(Results...)> done;
            std::tuple<Results...> results;
            void run() noexcept {
                call_guarded([&] { std::apply(done, std::move(results)); });
            }
        };
        const auto call = std::make_shared<job>(job{std::move(done), {std::move(results)...}});
        if (!to.post([call] { call->run(); })) call->run();  // here, rather than never
    };
}

}  // namespace mortise::inline v0::core
