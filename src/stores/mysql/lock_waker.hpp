// Wakes waiting claims by the server's named locks: each claim has one while it is in its line, and who waits behind it asks for
// it, on one of a few connections. Claims for which none is free are asked about at short intervals (sql/row_upkeep.hpp).
#pragma once

#include "stores/sql/connection.hpp"
#include "stores/sql/row_waker.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::mysql {

class lock_waker final : public sql::row_waker {
public:
    using woken = sql::row_woken;

    // The connections are made when they are needed.
    lock_waker(std::function<std::shared_ptr<sql::connection>()> connect, std::size_t connections, woken told);
    ~lock_waker() override;

    void watch(const claim_id& mine, const std::vector<claim_id>& others) override;
    void unwatch(const claim_id& mine) override;
    bool serves_all() const override;
    void close() noexcept override;

private:
    struct state;
    const std::shared_ptr<state> state_;
};

}  // namespace mortise::inline v0::stores::mysql
