// Claims of one client that wait and are not in the ledger yet: no process slot was free, or a slow process owned its lock.
//
// All threads of the client use it.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::host {

class pending_claims {
public:
    // A request that outlives the call it came with.
    class kept_request {
    public:
        explicit kept_request(const spi::claim_request& wanted);
        const spi::claim_request& operator*() const noexcept { return wanted_; }

    private:
        std::string name_;
        std::string label_;
        spi::claim_request wanted_;
    };

    using found = std::vector<std::shared_ptr<const kept_request>>;

    void add(const spi::claim_request& wanted, std::string why);
    std::optional<std::string> why(const claim_id& id);  // none: it is not there
    bool remove(const claim_id& id);                     // false: it was not there
    found all();                                         // first come, first
    void explain(const std::string& why);                // why they wait now
    void clear();

private:
    std::atomic<bool> any_{false};  // most clients never have any
    std::mutex mutex_;
    found all_;
    std::string why_;
};

}  // namespace mortise::inline v0::stores::host
