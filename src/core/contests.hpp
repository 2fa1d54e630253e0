// Which locks others have asked for lately: a client that keeps its idle locks does not keep these.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <array>
#include <cstddef>

namespace mortise::inline v0::core {

class cohort;
struct claim_terms;

// Pure; each shard of the claim table has one, guarded by the shard's mutex. It is small: a name that shares its place with
// another is kept too early now and then, which costs a hand-over.
class contests {
public:
    // Somebody else asks for it.
    void note(const claim_terms& t, spi::time_point now) noexcept;
    // Whether its grant is to be kept when it is idle.
    bool would_keep(const cohort& c, spi::time_point now) const noexcept;

private:
    struct contest {
        std::size_t name_hash = 0;
        spi::time_point until{};  // it is not kept before
    };
    std::size_t place_of(const claim_terms& t) const noexcept;

    std::array<contest, 16> latest_{};
};

}  // namespace mortise::inline v0::core
