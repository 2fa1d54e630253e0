// An asynchronous operation: waits for the library's result and posts it to the handler's executor. Internal.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>

namespace mortise::inline v0::asio_detail {

namespace net = boost::asio;

// A pending operation as its execution context sees it.
class unfinished {
public:
    virtual ~unfinished() = default;
    virtual void abandon() noexcept = 0;
};

// The pending operations of one execution context. When the context is destroyed they are abandoned: their waits end,
// their handlers are destroyed without being called, as Asio does with all handlers, and later results are dropped. So
// an executor is never used after its context.
class roster {
public:
    // Returns false if the context was destroyed.
    bool enter(const std::shared_ptr<unfinished>& one) {
        std::scoped_lock guard{mutex_};
        return !closed_ && all_.insert(one).second;
    }
    // Calls `last` unless the operation was abandoned; the context is not destroyed meanwhile.
    template <class Last>
    void leave(const std::shared_ptr<unfinished>& one, Last last) {
        std::scoped_lock guard{mutex_};
        if (all_.erase(one) > 0) last();
    }
    void close() noexcept {
        std::unordered_set<std::shared_ptr<unfinished>> left;
        {
            std::scoped_lock guard{mutex_};
            closed_ = true;
            left.swap(all_);
        }
        for (const auto& one : left) one->abandon();
    }

private:
    std::mutex mutex_;
    std::unordered_set<std::shared_ptr<unfinished>> all_;
    bool closed_ = false;
};

// Registers the roster with its context, which notifies it of its destruction.
class roster_service final : public net::execution_context::service {
public:
    inline static net::execution_context::id id;

    explicit roster_service(net::execution_context& of) : net::execution_context::service(of) {}
    const std::shared_ptr<roster>& all() const noexcept { return all_; }

private:
    void shutdown() noexcept override { all_->close(); }

    const std::shared_ptr<roster> all_ = std::make_shared<roster>();
};

// A handler and its arguments, to be called on its executor.
template <class Handler, class Results>
struct call {
    Handler handler;
    Results results;

    void operator()() {
        if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
        Handler last = std::move(handler);  // what it owns may be destroyed before the results
        std::apply(std::move(last), std::move(results));
    }
};

template <class Handler, class Results>
class operation final : public unfinished, public std::enable_shared_from_this<operation<Handler, Results>> {
public:
    explicit operation(Handler handler) : ahead_(std::in_place, std::move(handler)) {
        net::execution_context& context = net::query(ahead_->executor, net::execution::context);
        roster_ = net::use_service<roster_service>(context).all();
    }

    // From now on complete() may be called. `also` cancels the wait, like the handler's cancellation slot. Returns
    // false if the context was destroyed.
    bool enter(std::stop_token also) {
        if (also.stop_possible())
            also_.emplace(std::move(also), [stop = stop_] {
                std::stop_source kept = stop;  // the completion may destroy what was captured
                kept.request_stop();
            });
        if (auto slot = net::get_associated_cancellation_slot(ahead_->handler); slot.is_connected())
            slot.assign([stop = stop_](net::cancellation_type type) {
                std::stop_source kept = stop;
                if (type != net::cancellation_type::none) kept.request_stop();
            });
        return roster_->enter(this->shared_from_this());
    }
    std::stop_token stop() const { return stop_.get_token(); }

    // Call once, from any thread. The handler never runs inside this call.
    void complete(Results results) {
        also_.reset();
        roster_->leave(this->shared_from_this(), [&] {
            const auto allocator = net::get_associated_allocator(ahead_->handler);
            net::post(
                ahead_->executor,
                net::bind_allocator(allocator, call<Handler, Results>{std::move(ahead_->handler), std::move(results)}));
            ahead_.reset();
        });
    }

    void abandon() noexcept override {
        stop_.request_stop();
        ahead_.reset();
    }
    // Removes the operation as if it had never started.
    void withdraw() {
        roster_->leave(this->shared_from_this(), [] {});
    }

private:
    using executor_type = net::associated_executor_t<Handler>;
    using tracked_type =
        std::decay_t<decltype(net::prefer(std::declval<executor_type>(), net::execution::outstanding_work.tracked))>;
    struct ahead {
        Handler handler;
        tracked_type executor;  // counts as outstanding work of its context

        explicit ahead(Handler h)
            : handler(std::move(h)),
              executor(net::prefer(net::get_associated_executor(handler), net::execution::outstanding_work.tracked)) {}
    };

    std::optional<ahead> ahead_;
    std::shared_ptr<roster> roster_;
    std::stop_source stop_;
    std::optional<std::stop_callback<std::function<void()>>> also_;
};

template <class Results>
struct signature_of;
template <class... Results>
struct signature_of<std::tuple<Results...>> {
    using type = void(Results...);
};

// Starts an operation. `start(stop, done)` calls the library; Shape::of converts its result, or the error that it
// threw, into the handler's arguments, so every error reaches the handler.
template <class Shape, class Token, class Start>
auto initiate(Token&& token, std::stop_token also, Start start) {
    using results = typename Shape::results;
    return net::async_initiate<Token, typename signature_of<results>::type>(
        [](auto handler, std::stop_token user, Start begin) {
            using handler_type = std::decay_t<decltype(handler)>;
            const auto op = std::make_shared<operation<handler_type, results>>(std::move(handler));
            if (!op->enter(std::move(user))) return;
            try {
                std::move(begin)(op->stop(), [op](auto... answer) { op->complete(Shape::of(std::move(answer)...)); });
            } catch (const error& e) {
                op->complete(Shape::of(e));
            } catch (...) {
                op->withdraw();
                throw;
            }
        },
        token, std::move(also), std::move(start));
}

}  // namespace mortise::inline v0::asio_detail
