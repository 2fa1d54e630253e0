// Who holds what, seen from outside; and how a lock is taken away.
#pragma once

#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/spi/store.hpp>

#include <optional>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

class onlooker {
public:
    onlooker(const settings& how, const naming& names, session& servers)
        : how_(how), names_(names), servers_(servers) {}

    // The holder behind a node; none if it has gone, could not be read, or the path is empty.
    void describe(const std::string& node, unique_function<void(const outcome&, std::optional<holder>)> done);

    // Goes through all lines: for people, not for programs in a hurry.
    void list(spi::reply<spi::listing>);
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>);

private:
    const settings& how_;
    const naming& names_;
    session& servers_;
};

}  // namespace mortise::inline v0::stores::zookeeper
