// Asynchronous functions for Boost.Asio: callbacks, futures, co_await. Link mortise::asio; no other header needs Boost.
//
//     boost::asio::awaitable<void> sell(mortise::client& locks) {
//         mortise::hold ticket = co_await mortise::async_acquire(locks, "ticket", boost::asio::use_awaitable);
//         ...
//         co_await mortise::async_release(std::move(ticket), boost::asio::use_awaitable);
//     }
//
// The last argument is a completion token. Functions that acquire come in two forms, like their blocking counterparts:
// async_acquire has the signature void(std::exception_ptr, hold), so co_await and futures throw mortise::error;
// async_try_acquire has void(attempt) and throws nothing.
//
// Options precede the token, in braces or by name: async_acquire(locks, "ticket", {.wait = 200ms},
// boost::asio::use_awaitable).
//
// **Executor.** The handler is posted to its associated executor and never runs inside the call; without an associated
// executor (a plain lambda) it runs on Asio's system executor. A pending operation counts as work, so io_context::run()
// does not return before it completes.
//
// **Cancellation.** Waiting blocks no thread. A wait ends with errc::cancelled, and leaves no waiter in the store, when
// the handler's cancellation slot is emitted with any cancellation type, or `stop` in the options is requested. A
// cancellation after the grant has no effect: the handler gets its hold. Releases, resignations and lists cannot be
// cancelled; they are bounded by client_options::release_wait and patience.
//
// **Errors** are always passed to the handler, also for invalid arguments. The functions themselves throw only
// exceptions of Asio and std::bad_alloc.
//
// **Lifetime.** The io_context may be stopped or destroyed with operations pending: their handlers are destroyed
// without being called, their waits end, and holds granted meanwhile are released. The client may be destroyed:
// handlers get errc::closed. Objects passed by reference (client, lock, a hold to exchange) must live until the
// operation has started; with deferred and use_awaitable it starts at the co_await.
//
// Destroying a hold releases it and waits for the store (hold.hpp). On a thread that must not block, use async_release.
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

// Calls `object.*Start` with these arguments, the wait, and the operation's own stop_token, which is also requested
// when the user's is.
template <auto Start, class Shape, class Object, class Token, class... Arguments>
auto wait_for(Object& object, wait_options how, Token&& token, Arguments... arguments) {
    std::stop_token also = how.stop.take();
    return initiate<Shape>(std::forward<Token>(token), std::move(also),
                           [&object, wait = how.wait, arguments...](std::stop_token stop, auto done) mutable {
                               (object.*Start)(arguments..., wait_options{.wait = wait, .stop = std::move(stop)},
                                               std::move(done));
                           });
}

// The same for operations that cannot be cancelled.
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

// Acquire a name of a client exclusively. Without options.wait async_acquire waits for ever, and async_try_acquire does
// not wait.
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

// Release a hold: void(release_result). Takes ownership of the hold, which is empty once the release has started.
template <class Token>
auto async_release(hold held, Token&& token) {
    return asio_detail::release(std::move(held), std::forward<Token>(token));
}
template <class Token>
auto async_release(multi_hold held, Token&& token) {
    return asio_detail::release(std::move(held), std::forward<Token>(token));
}
// Release a detached claim by its id: void(release_result).
template <class Token>
auto async_release(client& locks, std::string_view name, const claim_id& id, Token&& token) {
    return asio_detail::ask<&client::start_release, asio_detail::released>(locks, std::forward<Token>(token),
                                                                           std::string(name), id);
}

// List all held locks, like client::list: void(std::exception_ptr, std::vector<held_lock>).
template <class Token>
auto async_list(client& locks, Token&& token) {
    return asio_detail::ask<&client::start_list, asio_detail::listed>(locks, std::forward<Token>(token));
}

// Acquire a shared_mutex: write, read and upgradeable read locks.
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

// Exchange a hold of a shared_mutex in one step. The new hold replaces the old one, which is unchanged if the exchange
// fails (shared_mutex.hpp).
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

// Acquire `count` permits of a counting_semaphore, or one.
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

// Acquire a multi_lock: void(std::exception_ptr, multi_hold), void(multi_attempt).
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

// Campaign in an election: void(std::exception_ptr), null if this candidate leads. Resign: void(release_result).
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
