// How a claim that waits hears that it should look at its line. PostgreSQL notifies the client, so it has none of these.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace mortise::inline v0::stores::sql {

class row_waker {
public:
    virtual ~row_waker() = default;

    // `mine` waits until one of the others has left its line. Says so once, or not at all; a second call for the same claim
    // replaces the first. Calls nobody inside.
    virtual void watch(const claim_id& mine, const std::vector<claim_id>& others) = 0;
    virtual void unwatch(const claim_id& mine) = 0;
    // Whether each claim that is watched is served by it: if not, the client asks for all of them at short intervals.
    virtual bool serves_all() const = 0;
    virtual void close() noexcept = 0;
};

// The number of the claim if it is known to have been granted, or 0.
using row_woken = std::function<void(const claim_id&, std::uint64_t number)>;
using row_waker_factory = std::function<std::unique_ptr<row_waker>(row_woken woken)>;

}  // namespace mortise::inline v0::stores::sql
