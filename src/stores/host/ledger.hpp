// The shared state of a directory: blocks for names and claims in a file that all processes map (ledger_file.hpp), changed in
// place under one lock (ledger_lock.hpp) through a ledger_access, and right when a process is killed at any instruction.
#pragma once

#include "stores/host/ledger_file.hpp"
#include "stores/host/ledger_lock.hpp"
#include "stores/host/process_slots.hpp"
#include "stores/host/store_directory.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace mortise::inline v0::stores::host {

class ledger {
public:
    explicit ledger(const store_directory& where);

    // Takes a process slot, unless this process has one. Throws temporary_error if all are taken.
    void acquire_slot(process_slots::urgency when);
    process_slots& slots() noexcept { return slots_; }
    const process_slots& slots() const noexcept { return slots_; }
    bool alive(const process_slot& owner) const noexcept;

    // The futex word of a blocked caller (wait_slots.hpp).
    std::atomic<std::uint32_t>& wait_slot(std::uint32_t number) noexcept;

    // Throws errc::unreachable if the file is no longer where others would find it, or no longer what it was.
    void check_in_place() const { file_.check_in_place(); }
    bool damaged() const noexcept { return file_.damaged(); }

    // The client that this claim belongs to closes and cannot take the ledger's lock to end it. Writes the claim's id beside it
    // without the lock; whoever finds the claim compares the two. If the block holds another claim by now, nothing happens.
    void abandon(block_number claim, const claim_id& id) noexcept;

    const std::string& directory() const noexcept { return file_.where().directory; }
    int descriptor() const noexcept { return file_.descriptor(); }
    std::uint64_t blocks_in_use() const noexcept;

private:
    friend class ledger_access;

    ledger_file file_;
    process_slots slots_;
    ledger_lock lock_{file_, slots_};
    std::mutex threads_;  // of this process, before they compete with other processes
};

}  // namespace mortise::inline v0::stores::host
