// One client's connection to the shared state: the ledger, a session in it, and the pipe through which others wake the client.
// Made at the first use: a client that has never asked for anything needs no process slot.
#pragma once

#include "stores/host/ledger.hpp"
#include "stores/host/session_id.hpp"
#include "stores/host/store_directory.hpp"
#include "stores/host/wake_pipes.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace mortise::inline v0::stores::host {

class host_connection {
public:
    host_connection(store_directory where, spi::clock& clock) : where_(std::move(where)), clock_(clock) {}

    // Connects unless it is connected. `woken` is called by the io thread when another client has sent something, with whether a
    // hold was lost. `first` is called once, connected but for that; if it throws, the next open() calls it again. Throws
    // errc::unreachable, errc::exhausted, temporary_error.
    void open(process_slots::urgency when, std::function<void(bool lost)> woken, const std::function<void()>& first);
    bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

    // All of these only once it has been opened, or from `first`.
    ledger& records() const noexcept { return *ledger_; }
    wake_pipes& pipes() const noexcept { return *pipes_; }
    session_id session() const noexcept { return session_; }

    // The records for somebody who only reads, which needs no process slot. Null: nobody has made any yet.
    std::shared_ptr<ledger> records_to_read() const;

    // Makes sure now and then that the files are still in place. Throws errc::unreachable.
    void check_files(spi::time_point now);

    // Nobody is woken from now on. False: there was nothing to close.
    bool stop_listening() noexcept;

    const store_directory& where() const noexcept { return where_; }

private:
    void join(process_slots::urgency when, std::function<void(bool lost)> woken);

    const store_directory where_;
    spi::clock& clock_;
    std::mutex opening_;
    std::atomic<bool> open_{false};
    std::shared_ptr<ledger> ledger_;
    std::unique_ptr<wake_pipes> pipes_;
    session_id session_ = 0;
    std::atomic<spi::time_point> next_check_{spi::time_point{}};
};

}  // namespace mortise::inline v0::stores::host
