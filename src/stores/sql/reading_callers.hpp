// Callers that sleep until they are answered, of a store with several connections: each reads the one on which it has asked, so that
// its answer needs no thread switch.
//
//   will_sleep(true); ...; about_to_ask(line); line->run(...); ...; sleep(who)      of one thread
//
// The first statement of a thread that will sleep decides which connection it reads, and for which claim. If an answer that it reads
// leads to a statement for the same claim on another connection, it reads that one next. The io thread reads all others.
#pragma once

#include "stores/sql/connection.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace mortise::inline v0::stores::sql {

// Safe to use from all threads.
class reading_callers {
public:
    // These as spi::store has them.
    static void will_sleep(bool whether) noexcept;
    void sleep(spi::sleeper& who);
    void wake(spi::sleeper& who) noexcept;

    // Before each statement that a caller may wait for. Without a claim: what follows from an answer is not read by its caller.
    static void about_to_ask(const claim_id& what_for, const std::shared_ptr<connection>& line);

private:
    void enter(const spi::sleeper& who, const std::shared_ptr<connection>& line);  // with the mutex held

    std::mutex mutex_;
    std::unordered_map<const spi::sleeper*, std::shared_ptr<connection>> reading_;
};

}  // namespace mortise::inline v0::stores::sql
