// How a claim that waits hears that it was granted, or has to look. PostgreSQL notifies the client, so it has none of these.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace mortise::inline v0::stores::sql {

class row_waker {
public:
    virtual ~row_waker() = default;

    // A claim that waits: where it stands, the claim before it, or none, and a time at which it was not granted.
    struct waiter {
        claim_id id{};
        std::uint64_t stands = 0;
        claim_id before{};
        spi::time_point ungranted{};
    };

    // Until it is not to be watched any more; a claim that is watched already may be again. True: it may have been granted since,
    // and nobody would tell, so it is to be looked at. Calls nobody inside.
    virtual bool watch(const waiter& mine) = 0;
    virtual void unwatch(const claim_id& mine) = 0;
    // If not, the client asks for all that wait at short intervals.
    virtual bool serves() const = 0;
    virtual void close() noexcept = 0;
};

// With the number of the claim if it was granted; 0: it has to look.
using row_woken = std::function<void(const claim_id&, std::uint64_t number)>;
using row_waker_factory = std::function<std::unique_ptr<row_waker>(row_woken woken)>;

}  // namespace mortise::inline v0::stores::sql
