// The lock of the shared file, between processes: a futex word that names its owner's process slot. Not a robust pthread mutex:
// those know owners by thread number, which means nothing across pid namespaces. A dead owner is recognised by its process slot
// and replaced; one that the kernel says is stopped is waited for with a deadline, and then named in the error.
#pragma once

#include "stores/host/ledger_file.hpp"
#include "stores/host/process_slots.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>

namespace mortise::inline v0::stores::host {

class ledger_lock {
public:
    ledger_lock(ledger_file& file, const process_slots& slots) : file_(file), slots_(slots) {}

    // By one thread of this process at a time. Throws errc::unreachable if the file is damaged, or naming the process that is
    // stopped while it owns the lock; temporary_error if one that is not stopped keeps it for longer than `at_most`. With the
    // full ledger_patience that is only one that has made no progress for ten times as long.
    void take(std::uint32_t owner_word, std::chrono::milliseconds at_most);
    void give_back() noexcept;

private:
    void take_slowly(std::uint32_t owner_word, std::chrono::milliseconds at_most);
    std::chrono::steady_clock::duration no_progress_for() noexcept;

    ledger_file& file_;
    const process_slots& slots_;
    std::uint64_t seen_turns_ = 0;
    std::chrono::steady_clock::time_point seen_since_{};
};

}  // namespace mortise::inline v0::stores::host
