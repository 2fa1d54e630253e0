// The verbs that take, exchange, release and list, for Boost.Asio: callbacks, futures, co_await. Link mortise::asio; no other
// header needs Boost.
//
//     boost::asio::awaitable<void> sell(mortise::client& locks) {
//         mortise::hold ticket = co_await mortise::async_acquire(locks, "ticket", boost::asio::use_awaitable);
//         ...
//         co_await mortise::async_release(std::move(ticket), boost::asio::use_awaitable);
//     }
//
// The last argument is a completion token. Verbs that acquire come in two forms, as their blocking sisters do: async_acquire
// has the signature void(std::exception_ptr, hold), so co_await and futures throw mortise::error with the whole story;
// async_try_acquire has void(attempt), which throws nothing.
//
// Options stand before it, in braces or by name: async_acquire(locks, "ticket", {.wait = 200ms}, boost::asio::use_awaitable).
//
// **Where.** The handler runs on its associated executor, by boost::asio::post, never inside the verb; without one (a plain
// lambda) on Asio's system executor. Until then the verb counts as work, so io_context::run() does not return.
//
// **Waiting** costs no thread. It ends with errc::cancelled, and leaves no waiter, when the handler's cancellation slot is asked
// for any type of cancellation, or by `stop` in the options. A cancellation that comes after the grant has no effect: the
// handler gets its hold. Cancellation never ends a release, a resignation or a list; these are bounded
// by client_options::release_wait and patience.
//
// **Errors** all arrive in the handler, those of invalid arguments too; the verbs themselves throw only what Asio or memory do.
//
// **Ends.** The io_context may be stopped or destroyed with operations outstanding: their handlers are destroyed uncalled, their
// waits end, and what was granted meanwhile is released. The client may be destroyed: handlers get errc::closed. The objects
// named in a call (client, lock, a hold that is exchanged) must live until it has begun, not longer; with deferred and
// use_awaitable it begins at the co_await.
//
// Dropping a hold releases it, and waits for the store (hold.hpp): on a thread that must not be kept, async_release first.
#pragma once

#include <mortise/asio/operation.hpp>
#include <mortise/asio/shapes.hpp>
#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/counting_semaphore.hpp>
#include <mortise/election.hpp>
#include <mortise/hold.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/shared_mutex.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::inline v0 {

namespace asio_detail {

// Calls `object.*Start` with these arguments, the wait and a stop: the operation's own, which also ends when the user's does.
template <auto Start, class Shape, class Object, class Token, class... Arguments>
auto wait_for(Object& object, wait_options how, Token&& token, Arguments... arguments) {
    std::stop_token also = how.stop.take();
    return initiate<Shape>(std::forward<Token>(token), std::move(also),
                           [&object, wait = how.wait, arguments...](std::stop_token stop, auto done) mutable {
                               (object.*Start)(arguments..., wait_options{.wait = wait, .stop = std::move(stop)},
                                               std::move(done));
                           });
}

// The same for what waits for nobody: it cannot be cancelled.
template <auto Start, class Shape, class Object, class Token, class... Arguments>
auto ask(Object& object, Token&& token, Arguments... arguments) {
    return initiate<Shape>(std::forward<Token>(token), {},
                           [&object, arguments...](const std::stop_token&, auto done) mutable {
                               (object.*Start)(arguments..., std::move(done));
                           });
}

template <class Shape, class Token>
auto claim_name(client& locks, std::string_view name, claim_options options, Token&& token) {
    std::stop_token also = options.stop.take();
    claim wanted{.name = std::string(name), .options = std::move(options)};
    return initiate<Shape>(std::forward<Token>(token), std::move(also),
                           [&locks, wanted = std::move(wanted)](std::stop_token stop, auto done) mutable {
                               wanted.options.stop = std::move(stop);
                               locks.start(std::move(wanted), std::move(done));
                           });
}

template <class Hold, class Token>
auto release(Hold held, Token&& token) {
    return initiate<released>(std::forward<Token>(token), {},
                              [held = std::move(held)](const std::stop_token&, release_completion done) mutable {
                                  held.start_release(std::move(done));
                              });
}

template <class Options>
Options at_once_unless_told(Options options) {
    if (!options.wait) options.wait = std::chrono::nanoseconds::zero();
    return options;
}

}  // namespace asio_detail

// A name of a client, alone. Without options.wait async_acquire waits for ever, async_try_acquire not at all.
template <class Token>
auto async_acquire(client& locks, std::string_view name, claim_options options, Token&& token) {
    return asio_detail::claim_name<asio_detail::acquired>(locks, name, std::move(options), std::forward<Token>(token));
}
template <class Token>
auto async_acquire(client& locks, std::string_view name, Token&& token) {
    return async_acquire(locks, name, claim_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(client& locks, std::string_view name, claim_options options, Token&& token) {
    return asio_detail::claim_name<asio_detail::tried>(
        locks, name, asio_detail::at_once_unless_told(std::move(options)), std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(client& locks, std::string_view name, Token&& token) {
    return async_try_acquire(locks, name, claim_options{}, std::forward<Token>(token));
}

// void(release_result). Takes the hold over: it holds nothing from the moment the release has begun.
template <class Token>
auto async_release(hold held, Token&& token) {
    return asio_detail::release(std::move(held), std::forward<Token>(token));
}
template <class Token>
auto async_release(multi_hold held, Token&& token) {
    return asio_detail::release(std::move(held), std::forward<Token>(token));
}
// A detached claim, by its id.
template <class Token>
auto async_release(client& locks, std::string_view name, const claim_id& id, Token&& token) {
    return asio_detail::ask<&client::start_release, asio_detail::released>(locks, std::forward<Token>(token),
                                                                           std::string(name), id);
}

// void(std::exception_ptr, std::vector<held_lock>).
template <class Token>
auto async_list(client& locks, Token&& token) {
    return asio_detail::ask<&client::start_list, asio_detail::listed>(locks, std::forward<Token>(token));
}

// shared_mutex: writing, reading, and reading that may become writing.
template <class Token>
auto async_acquire(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start, asio_detail::acquired>(lock, std::move(how),
                                                                              std::forward<Token>(token));
}
template <class Token>
auto async_acquire(shared_mutex& lock, Token&& token) {
    return async_acquire(lock, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start, asio_detail::tried>(
        lock, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(shared_mutex& lock, Token&& token) {
    return async_try_acquire(lock, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_acquire_shared(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_shared, asio_detail::acquired>(lock, std::move(how),
                                                                                     std::forward<Token>(token));
}
template <class Token>
auto async_acquire_shared(shared_mutex& lock, Token&& token) {
    return async_acquire_shared(lock, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_shared(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_shared, asio_detail::tried>(
        lock, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_shared(shared_mutex& lock, Token&& token) {
    return async_try_acquire_shared(lock, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_acquire_upgradeable(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_upgradeable, asio_detail::acquired>(lock, std::move(how),
                                                                                          std::forward<Token>(token));
}
template <class Token>
auto async_acquire_upgradeable(shared_mutex& lock, Token&& token) {
    return async_acquire_upgradeable(lock, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_upgradeable(shared_mutex& lock, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_upgradeable, asio_detail::tried>(
        lock, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire_upgradeable(shared_mutex& lock, Token&& token) {
    return async_try_acquire_upgradeable(lock, wait_options{}, std::forward<Token>(token));
}

// One step up or down; the new hold takes the place of the old, which stays as it was if the step fails (shared_mutex.hpp).
template <class Token>
auto async_upgrade(shared_mutex& lock, const hold& reading, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_upgrade, asio_detail::acquired>(
        lock, std::move(how), std::forward<Token>(token), std::cref(reading));
}
template <class Token>
auto async_upgrade(shared_mutex& lock, const hold& reading, Token&& token) {
    return async_upgrade(lock, reading, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_upgrade(shared_mutex& lock, const hold& reading, wait_options how, Token&& token) {
    return asio_detail::wait_for<&shared_mutex::start_upgrade, asio_detail::tried>(
        lock, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token), std::cref(reading));
}
template <class Token>
auto async_try_upgrade(shared_mutex& lock, const hold& reading, Token&& token) {
    return async_try_upgrade(lock, reading, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_downgrade(shared_mutex& lock, const hold& writing, Token&& token) {
    return asio_detail::ask<&shared_mutex::start_downgrade, asio_detail::acquired>(lock, std::forward<Token>(token),
                                                                                   std::cref(writing));
}
template <class Token>
auto async_downgrade_to_shared(shared_mutex& lock, const hold& more, Token&& token) {
    return asio_detail::ask<&shared_mutex::start_downgrade_to_shared, asio_detail::acquired>(
        lock, std::forward<Token>(token), std::cref(more));
}

// counting_semaphore: `count` permits, or one.
template <class Token>
auto async_acquire(counting_semaphore& from, std::ptrdiff_t count, wait_options how, Token&& token) {
    return asio_detail::wait_for<&counting_semaphore::start, asio_detail::acquired>(from, std::move(how),
                                                                                    std::forward<Token>(token), count);
}
template <class Token>
auto async_acquire(counting_semaphore& from, std::ptrdiff_t count, Token&& token) {
    return async_acquire(from, count, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_acquire(counting_semaphore& from, Token&& token) {
    return async_acquire(from, 1, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(counting_semaphore& from, std::ptrdiff_t count, wait_options how, Token&& token) {
    return asio_detail::wait_for<&counting_semaphore::start, asio_detail::tried>(
        from, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token), count);
}
template <class Token>
auto async_try_acquire(counting_semaphore& from, std::ptrdiff_t count, Token&& token) {
    return async_try_acquire(from, count, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(counting_semaphore& from, Token&& token) {
    return async_try_acquire(from, 1, wait_options{}, std::forward<Token>(token));
}

// multi_lock: void(std::exception_ptr, multi_hold), void(multi_attempt).
template <class Token>
auto async_acquire(multi_lock& all, wait_options how, Token&& token) {
    return asio_detail::wait_for<&multi_lock::start, asio_detail::acquired_all>(all, std::move(how),
                                                                                std::forward<Token>(token));
}
template <class Token>
auto async_acquire(multi_lock& all, Token&& token) {
    return async_acquire(all, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(multi_lock& all, wait_options how, Token&& token) {
    return asio_detail::wait_for<&multi_lock::start, asio_detail::tried_all>(
        all, asio_detail::at_once_unless_told(std::move(how)), std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(multi_lock& all, Token&& token) {
    return async_try_acquire(all, wait_options{}, std::forward<Token>(token));
}

// election: void(std::exception_ptr) when it leads, or does not; void(release_result).
template <class Token>
auto async_campaign(election& candidate, wait_options how, Token&& token) {
    return asio_detail::wait_for<&election::start_campaign, asio_detail::elected>(candidate, std::move(how),
                                                                                  std::forward<Token>(token));
}
template <class Token>
auto async_campaign(election& candidate, Token&& token) {
    return async_campaign(candidate, wait_options{}, std::forward<Token>(token));
}
template <class Token>
auto async_resign(election& candidate, Token&& token) {
    return asio_detail::ask<&election::start_resign, asio_detail::released>(candidate, std::forward<Token>(token));
}

}  // namespace mortise::inline v0
