// The claims of one client, while they wait or hold, and its releases that have to be repeated.
//
// All threads of the client use it. Its mutex may be taken inside the ledger's lock; nothing here takes that one.
#pragma once

#include "stores/host/ledger.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
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
        spi::grant_word* word = nullptr;

        bool taken(const claim_id& id) const noexcept;  // its word has ended
    };
    using found = std::vector<std::pair<const claim_id, own_claim>>;

    // Before anybody else can do anything to it. The grant is empty while it waits. False: the client has left.
    bool note(const spi::claim_request& wanted, block_number block, bool waits, const spi::grant& given);
    bool stops_waiting(const claim_id& id, const spi::grant& given);  // true: it did wait
    std::optional<own_claim> find(const claim_id& id);
    block_number block_of(const claim_id& id);  // 0: it is none of ours
    std::optional<own_claim> forget(const claim_id& id);

    found all();
    found waiting();
    found at_wait_slot(std::uint32_t wait_slot);  // the one that waits there

    // Who takes a grant that is kept idle announces it to nobody. So those are searched for whenever the claims have doubled.
    found taken();

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
    static constexpr std::size_t few = 64;

    std::mutex mutex_;
    std::unordered_map<claim_id, own_claim> all_;
    std::unordered_map<std::uint32_t, claim_id> wait_slots_;  // of those that wait
    std::vector<failed_release> to_repeat_;
    std::size_t search_at_ = few;
    bool closed_ = false;
};

}  // namespace mortise::inline v0::stores::host
