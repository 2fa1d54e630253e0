// Who holds what, seen from outside; and how a lock is taken away.
#pragma once

#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

class onlooker {
public:
    onlooker(const settings& how, const naming& names, spi::clock& clock, session& servers)
        : how_(how), names_(names), clock_(clock), servers_(servers) {}

    // The holder behind a node; none if it has gone, could not be read, or the path is empty.
    void describe(const std::string& node, unique_function<void(const outcome&, std::optional<holder>)> done);

    // Goes through all lines: for people, not for programs in a hurry.
    void list(spi::reply<spi::listing>);
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>);

    // The leader's clock showed this a moment ago.
    void heard(std::chrono::milliseconds leaders_time);

private:
    const settings& how_;
    const naming& names_;
    spi::clock& clock_;
    session& servers_;
    static constexpr std::int64_t unheard = INT64_MIN;
    std::atomic<std::int64_t> leader_ahead_{unheard};  // of our clock, at least; milliseconds
};

}  // namespace mortise::inline v0::stores::zookeeper
