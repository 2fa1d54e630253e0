// What a client does for its claims, and for those of others, from time to time: it renews its holds, keeps its waiting claims,
// and sweeps what has expired.
#pragma once

#include "stores/sql/row_claims.hpp"
#include "stores/sql/row_parts.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace mortise::inline v0::stores::sql {

class row_upkeep : public std::enable_shared_from_this<row_upkeep> {
public:
    row_upkeep(std::shared_ptr<const row_parts> parts, std::shared_ptr<row_claims> claims)
        : parts_(std::move(parts)), claims_(std::move(claims)) {}

    // All in one statement.
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);

    void begin();  // with the first claim; further calls do nothing
    void close() noexcept { closed_ = true; }

private:
    void beat_later();
    void beat();
    void sweep_later();
    void sweep();

    const std::shared_ptr<const row_parts> parts_;
    const std::shared_ptr<row_claims> claims_;
    std::atomic<bool> begun_{false};
    std::atomic<bool> waited_{false};  // as the server was told
    std::atomic<bool> closed_{false};
};

}  // namespace mortise::inline v0::stores::sql
