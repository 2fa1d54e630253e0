// A call that waits for the store without a thread.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace mortise::inline v0::core {

class unanswered {
public:
    virtual ~unanswered() = default;
    virtual void give_up(std::error_code why) = 0;
    virtual bool answered() const noexcept = 0;
};

// Answered once, by the first of: the store, its time limit, the end of the client (pending_replies).
template <class Answer>
class pending_reply final : public unanswered {
public:
    using completion = unique_function<void(Answer, std::error_code)>;

    pending_reply(Answer if_none, completion done) : if_none_(std::move(if_none)), done_(std::move(done)) {}

    void answer(Answer reply, std::error_code why = {}) {
        if (!answered_.exchange(true)) std::exchange(done_, nullptr)(std::move(reply), why);
    }
    void give_up(std::error_code why) override { answer(std::move(if_none_), why); }
    bool answered() const noexcept override { return answered_.load(); }

private:
    std::atomic<bool> answered_{false};
    Answer if_none_;
    completion done_;
};

// Those of a client, each with its time limit.
class pending_replies : public std::enable_shared_from_this<pending_replies> {
public:
    explicit pending_replies(std::shared_ptr<spi::clock> clock) : clock_(std::move(clock)) {}

    // After `patience`, or when the client ends, nobody waits any longer.
    void wait_for(const std::shared_ptr<unanswered>& reply, spi::duration patience);
    void forget(const std::shared_ptr<unanswered>& reply) noexcept;

    // The store is closed: no answer comes any more.
    void give_up_all() noexcept;

private:
    const std::shared_ptr<spi::clock> clock_;
    std::mutex mutex_;
    bool closed_ = false;
    std::unordered_map<std::shared_ptr<unanswered>, spi::clock::timer_id> open_;
};

}  // namespace mortise::inline v0::core
