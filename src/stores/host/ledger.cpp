#include "stores/host/ledger.hpp"

namespace mortise::inline v0::stores::host {

ledger::ledger(const store_directory& where)
    : file_(where),
      slots_(file_.descriptor(),
             process_slots::shared_part{file_.header().slot_records, file_.header().reader,
                                        file_.header().next_slot_search},
             where.directory) {}

void ledger::acquire_slot(process_slots::urgency when) {
    std::scoped_lock guard{threads_};
    slots_.acquire(when);
}

bool ledger::alive(const process_slot& owner) const noexcept {
    return slots_.alive(owner) || !file_.is_open();  // in doubt, alive
}

std::atomic<std::uint32_t>& ledger::wait_slot(std::uint32_t number) noexcept {
    return file_.wait_slots()[number / 2 % format::wait_slot_count];
}

void ledger::abandon(block_number claim, const claim_id& id) noexcept {
    block_head* const there = file_.block_at(claim);
    if (there != nullptr && !damaged()) abandoned_mark(there).store(mark_of(id));
}

std::uint64_t ledger::blocks_in_use() const noexcept {
    return file_.header().total_blocks - file_.header().free_blocks;
}

}  // namespace mortise::inline v0::stores::host
