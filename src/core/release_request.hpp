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
class release_request : public std::enable_shared_from_this<release_request> {
public:
    // `log` lives as long as `link`.
    release_request(std::shared_ptr<store_link> link, release_log& log, release_log::ticket ticket, std::string name,
                    const claim_id& id, spi::time_point until);
    ~release_request();
    release_request(const release_request&) = delete;
    release_request& operator=(const release_request&) = delete;

    void send();

    // Calls `call` with the store's answer, if it comes: here if it has. At most one is kept.
    void then(unique_function<void(spi::release_answer)> call);

    // The store's answer, or nothing if it takes longer than `patience`. By one caller at a time, on the thread that sent it.
    std::optional<spi::release_answer> wait(spi::duration patience);
    bool answered() const noexcept { return answered_.load(std::memory_order_acquire); }

private:
    struct caller : spi::sleeper {};
    void receive(spi::release_answer answer);
    void failed();
    void repeat_after(spi::duration pause);
    void try_again();
    void stop_waiting(const std::shared_ptr<caller>& waiter) noexcept;
    void note(bool will_repeat);

    const std::shared_ptr<store_link> link_;
    release_log& log_;
    const release_log::ticket ticket_;
    const std::string name_;
    const claim_id id_;
    const spi::time_point until_;

    std::mutex mutex_;
    std::shared_ptr<caller> waits_;              // at most one
    std::optional<spi::release_answer> answer_;  // never changes once it is there
    std::atomic<bool> answered_{false};
    bool logged_ = false;
    spi::clock::timer_id timer_ = 0;
    unsigned tries_ = 0;     // that nobody answered
    unsigned failures_ = 0;  // of those on the way
    unique_function<void(spi::release_answer)> then_;
};

}  // namespace mortise::inline v0::core
