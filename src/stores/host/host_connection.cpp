#include "stores/host/host_connection.hpp"

#include "base/descriptors.hpp"
#include "stores/host/open_ledgers.hpp"

#include <chrono>
#include <utility>

#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

// How often a client that asks for something makes sure that the files are still in place.
constexpr std::chrono::milliseconds check_every{100};

}  // namespace

void host_connection::open(process_slots::urgency when, std::function<void(bool lost)> woken,
                           const std::function<void()>& first) {
    if (is_open()) return;
    std::scoped_lock guard{opening_};
    if (!pipes_) join(when, std::move(woken));
    if (!open_) first();
    open_ = true;
}

void host_connection::join(process_slots::urgency when, std::function<void(bool lost)> woken) {
    const base::standard_descriptors_taken out_of_the_way;
    static constinit std::atomic<std::uint32_t> clients{1};
    ledger_ = open_ledger(where_, when);
    session_ = make_session_id(ledger_->slots().mine(), clients.fetch_add(1));
    const int directory = where_.open_directory();
    const mode_t mode = where_.file_mode(directory);
    ::close(directory);
    pipes_ = std::make_unique<wake_pipes>(ledger_->directory(), session_, mode);
    try {
        clock_.watch(pipes_->descriptor(), [this, woken = std::move(woken)] { woken(pipes_->drain()); });
    } catch (...) {
        pipes_.reset();
        throw;
    }
}

std::shared_ptr<ledger> host_connection::records_to_read() const {
    if (!is_open() && !where_.in_use()) return nullptr;
    auto records = is_open() ? ledger_ : open_ledger_to_read(where_);
    records->check_in_place();
    return records;
}

void host_connection::check_files(spi::time_point now) {
    spi::time_point due = next_check_.load(std::memory_order_relaxed);
    if (now < due || !next_check_.compare_exchange_strong(due, now + check_every)) return;
    try {
        ledger_->check_in_place();
    } catch (...) {
        next_check_ = spi::time_point{};
        throw;
    }
}

bool host_connection::stop_listening() noexcept {
    if (!pipes_) return false;
    clock_.unwatch(pipes_->descriptor());
    return true;
}

}  // namespace mortise::inline v0::stores::host
