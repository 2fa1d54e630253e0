// Gives a claim back to the store, and does not give up early.
#pragma once

#include "core/release_log.hpp"
#include "core/store_link.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::inline v0::core {

// A release has a life of its own: cancelling the work, destroying the hold or a timeout of the caller do not end it. It is
// repeated, with growing pauses, until the store answers, or has ended the claim by itself (store::keeps_abandoned).
class release_request {
public:
    // `owner` keeps the link, the log and the name.
    release_request(std::shared_ptr<const void> owner, store_link& link, release_log& log, release_log::ticket ticket,
                    const std::string& name, const claim_id& id, spi::time_point until);
    ~release_request();
    release_request(const release_request&) = delete;
    release_request& operator=(const release_request&) = delete;

    static void send(const std::shared_ptr<release_request>& self);

    // Calls `call` with the store's answer, if it comes: here if it has. At most one is kept.
    void then(unique_function<void(spi::release_answer)> call);

    // The store's answer, or nothing if it takes longer than `patience`. By one caller at a time, on the thread that sent it.
    static std::optional<spi::release_answer> wait(const std::shared_ptr<release_request>& self,
                                                   spi::duration patience);
    bool answered() const noexcept { return answer_.load() != none; }

private:
    struct caller : spi::sleeper {};
    static constexpr int none = -1;
    std::optional<spi::release_answer> answer() const noexcept;
    void receive(spi::release_answer answer);
    static void failed(const std::shared_ptr<release_request>& self);
    void repeat_after(const std::shared_ptr<release_request>& self, spi::duration pause);
    static void try_again(const std::shared_ptr<release_request>& self);
    bool unanswered_though_attached() noexcept;
    void stop_waiting(const std::shared_ptr<caller>& waiter) noexcept;
    void note(bool will_repeat);

    const std::shared_ptr<const void> owner_;
    store_link& link_;
    release_log& log_;
    const release_log::ticket ticket_;
    const std::string& name_;
    const claim_id id_;
    const spi::time_point until_;

    // Most stores in this machine answer before anything below is in use: then the answer is all there is to note. Whoever
    // uses it says so in `attached_` and looks for the answer after that; receive() writes the answer and reads `attached_`
    // after that. So one of the two sees the other.
    std::atomic<int> answer_{none};  // a release_answer; never changes once it is there
    std::atomic<bool> attached_{false};
    std::mutex mutex_;               // of all below
    std::shared_ptr<caller> waits_;  // at most one
    bool logged_ = false;
    spi::clock::timer_id timer_ = 0;
    unsigned tries_ = 0;     // that nobody answered
    unsigned failures_ = 0;  // of those on the way
    unique_function<void(spi::release_answer)> then_;
};

}  // namespace mortise::inline v0::core
