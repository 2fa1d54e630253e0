// The ledgers that this process has open: one for each file.
#pragma once

#include "stores/host/ledger.hpp"
#include "stores/host/store_directory.hpp"

#include <mortise/config.hpp>

#include <memory>

namespace mortise::inline v0::stores::host {

// The ledger of a directory; one per process and directory, kept open until the process ends: closing any descriptor of its file
// would free this process's slot. Throws errc::unreachable, errc::exhausted; temporary_error if all process slots are taken.
std::shared_ptr<ledger> open_ledger(const store_directory& where,
                                    process_slots::urgency when = process_slots::urgency::now);

// The same without a process slot, for those who only read.
std::shared_ptr<ledger> open_ledger_to_read(const store_directory& where);

}  // namespace mortise::inline v0::stores::host
