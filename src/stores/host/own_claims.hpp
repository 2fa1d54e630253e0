// The claims of one client, while they wait or hold, and its releases that have to be repeated.
//
// All threads of the client use it. Its mutex may be taken inside the ledger's lock; nothing here takes that one.
#pragma once

#include "stores/host/ledger.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::host {

class own_claims {
public:
    struct own_claim {
        std::string name;
        std::uint32_t wait_slot = 0;
        block_number block = 0;
        bool waits = false;
    };
    using found = std::vector<std::pair<const claim_id, own_claim>>;

    // Before anybody else can do anything to it. False: the client has left.
    bool note(const spi::claim_request& wanted, block_number block, bool waits);
    bool stops_waiting(const claim_id& id);  // true: it did wait
    std::optional<own_claim> find(const claim_id& id);
    std::optional<own_claim> forget(const claim_id& id);

    found all();
    found waiting();
    found at_wait_slot(std::uint32_t wait_slot);  // the one that waits there

    // Releases that failed.
    struct failed_release {
        std::string name;
        claim_id id;
        block_number block = 0;
    };
    void repeat_later(failed_release which);
    std::optional<failed_release> next_to_repeat();  // and removes it

    bool none();

    // Nothing is noted from now on.
    void close() noexcept;

private:
    std::mutex mutex_;
    std::unordered_map<claim_id, own_claim> all_;
    std::unordered_map<std::uint32_t, claim_id> wait_slots_;  // of those that wait
    std::vector<failed_release> to_repeat_;
    bool closed_ = false;
};

}  // namespace mortise::inline v0::stores::host
