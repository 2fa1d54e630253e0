// Claims that were released while a plain command of theirs had no answer, and never got one. Nothing on the server refuses such a
// command, however late it comes, so the release is repeated for a while. Pure; its owner guards it.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

class late_claims {
public:
    // Of one outage; the oldest are given up for more, and their leases end.
    static constexpr std::size_t most = 1024;
    static constexpr spi::duration first_pause = std::chrono::milliseconds{50};
    static constexpr spi::duration longest_pause = std::chrono::seconds{1};

    struct late_claim {
        std::string key;
        claim_id id{};
    };

    void add(std::string key, const claim_id& id, spi::time_point now);
    // It came: it comes no more. False: it is none of these.
    bool came(const claim_id& id);

    // To be released once more.
    std::vector<late_claim> due(spi::time_point now);
    // When to look next.
    std::optional<spi::time_point> next() const;

private:
    struct state {
        late_claim claim;
        spi::time_point until{};
        spi::duration pause{};
    };
    std::multimap<spi::time_point, state> claims_;  // by when each is due
};

}  // namespace mortise::inline v0::stores::redis
