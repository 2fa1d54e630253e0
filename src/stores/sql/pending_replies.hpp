// Who waits for the answers to claims and releases, by the claim's id.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::sql {

// Guarded by its owner's mutex. What was not answered when the owner closes never is, and may own whoever owns the owner: it is
// to be moved out, and destroyed with no mutex held.
class pending_replies {
public:
    void add(const claim_id& id, spi::reply<spi::claim_answer> done) { claims_[id].push_back(std::move(done)); }
    void add(const claim_id& id, spi::reply<spi::release_answer> done) { releases_[id].push_back(std::move(done)); }

    std::vector<spi::reply<spi::claim_answer>> take_claims(const claim_id& id) { return taken(claims_, id); }
    std::vector<spi::reply<spi::release_answer>> take_releases(const claim_id& id) { return taken(releases_, id); }

private:
    template <class Reply>
    using by_id = std::unordered_map<claim_id, std::vector<Reply>>;

    template <class Reply>
    static std::vector<Reply> taken(by_id<Reply>& from, const claim_id& id) {
        auto found = from.extract(id);
        return found ? std::move(found.mapped()) : std::vector<Reply>{};
    }

    by_id<spi::reply<spi::claim_answer>> claims_;
    by_id<spi::reply<spi::release_answer>> releases_;
};

}  // namespace mortise::inline v0::stores::sql
