// Hears of grants on a connection of its own, on which it sleeps in the server (mortise_await in session_routines.cpp) until the claim
// before the first of those that are watched has left, then the next, or until somebody who grants another of them ends the statement
// (KILL QUERY). One connection serves all names.
//
//   watch --> [asks] --rows: granted--> told
//               | ^
//               +-+  when it has slept for a second, or was woken
#pragma once

#include "stores/sql/connection.hpp"
#include "stores/sql/row_waker.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace mortise::inline v0::stores::mysql {

class grant_listener final : public sql::row_waker {
public:
    using connect = std::function<std::shared_ptr<sql::connection>(std::function<void(sql::notification)> notified)>;

    // It connects when a claim is to be watched.
    grant_listener(connect make, std::int64_t session, spi::clock& clock, sql::row_woken told);
    ~grant_listener() override;

    bool watch(const waiter& mine) override;
    void unwatch(const claim_id& mine) override;
    bool serves() const override;
    void close() noexcept override;

private:
    struct state;
    const std::shared_ptr<state> state_;
};

}  // namespace mortise::inline v0::stores::mysql
