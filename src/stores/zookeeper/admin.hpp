// What administrators ask for: who holds what, and that a lock be taken from its holder.
#pragma once

#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

class admin {
public:
    admin(const settings& settings, const naming& names, session& servers)
        : settings_(settings), names_(names), servers_(servers) {}

    // Reads all lines, and is slow accordingly.
    void list(spi::reply<spi::listing>);
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>);

private:
    struct listing_job;
    void read_line(const std::shared_ptr<listing_job>& job, const std::string& line, const std::string& name);

    const settings& settings_;
    const naming& names_;
    session& servers_;
};

}  // namespace mortise::inline v0::stores::zookeeper
