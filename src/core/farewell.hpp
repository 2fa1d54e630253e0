// Gives a claim back to the store, and does not give up early.
#pragma once

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

class engine;

// A release has a life of its own: cancelling the work, destroying the hold or a timeout of the caller do not end it. It is
// repeated, with growing pauses, until the store answers, or has ended the claim by itself (store::keeps_abandoned).
class farewell : public std::enable_shared_from_this<farewell> {
public:
    farewell(std::shared_ptr<engine> home, std::string name, const claim_id& id, spi::time_point until);
    ~farewell();
    farewell(const farewell&) = delete;
    farewell& operator=(const farewell&) = delete;

    void send();

    // Calls `call` with the store's answer, if it comes: here if it has. At most one is kept.
    void then(unique_function<void(spi::release_answer)> call);

    // The store's answer, or nothing if it takes longer than `patience`. By one caller at a time, on the thread that sent it.
    std::optional<spi::release_answer> wait(spi::duration patience);

    // Whether it will be repeated: it was neither answered nor given up.
    bool pending();
    const std::string& name() const noexcept { return name_; }
    const claim_id& id() const noexcept { return id_; }

private:
    void answered(spi::release_answer answer);
    void failed();
    void repeat_after(spi::duration pause);
    void try_again();
    struct caller : spi::sleeper {};
    void stop_waiting(const std::shared_ptr<caller>& who) noexcept;

    const std::shared_ptr<engine> home_;
    const std::string name_;
    const claim_id id_;
    const spi::time_point until_;

    std::mutex mutex_;
    std::shared_ptr<caller> waits_;              // at most one
    std::optional<spi::release_answer> answer_;  // never changes once it is there
    std::atomic<bool> answered_{false};
    std::atomic<bool> listed_{false};  // by the engine, for audits
    spi::clock::timer_id timer_ = 0;
    unsigned tries_ = 0;     // that nobody answered
    unsigned failures_ = 0;  // of those on the way
    unique_function<void(spi::release_answer)> then_;
};

}  // namespace mortise::inline v0::core
