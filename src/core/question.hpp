// A call that waits for the store without a thread.
#pragma once

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <system_error>
#include <utility>

namespace mortise::inline v0::core {

class open_question {
public:
    virtual ~open_question() = default;
    virtual void give_up(std::error_code why) = 0;
    virtual bool answered() const noexcept = 0;
};

// Answered once, by the first of: the store, its time limit, the end of the client (engine::wait_for).
template <class Answer>
class question final : public open_question {
public:
    using completion = unique_function<void(Answer, std::error_code)>;

    question(Answer if_none, completion done) : if_none_(std::move(if_none)), done_(std::move(done)) {}

    void answer(Answer said, std::error_code why = {}) {
        if (!answered_.exchange(true)) std::exchange(done_, nullptr)(std::move(said), why);
    }
    void give_up(std::error_code why) override { answer(std::move(if_none_), why); }
    bool answered() const noexcept override { return answered_.load(); }

private:
    std::atomic<bool> answered_{false};
    Answer if_none_;
    completion done_;
};

}  // namespace mortise::inline v0::core
