// A driver by itself, as sql::connection would drive it, but blocking.
#pragma once

#include "stores/mysql/mariadb_driver.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <memory>
#include <string>

#include <poll.h>

namespace mortise::inline v0::stores::mysql::servers {

class driver_run {
public:
    driver_run(const settings& how, std::string numeric = "127.0.0.1",
               std::chrono::seconds silence = std::chrono::seconds{60})
        : driver_(make_driver(how, silence)) {
        driver_->open({.where = how.servers.front(), .numeric = std::move(numeric)});
        while (driver_->is() == sql::driver::state::connecting && step()) {
        }
    }

    sql::driver& operator*() { return *driver_; }
    sql::driver* operator->() { return driver_.get(); }

    sql::result run(const sql::statement& what, const sql::values& bound = {}) {
        driver_->send(what, bound);
        while (true) {
            if (auto got = driver_->next_result()) return std::move(*got);
            if (!step()) return {.how = {.is = sql::outcome::kind::unsure, .detail = "no answer"}};
        }
    }

    // Waits for what it wants. False: nothing comes.
    bool step() {
        const auto wants = driver_->wants();
        pollfd socket{driver_->descriptor(),
                      static_cast<short>((wants.read ? POLLIN : 0) | (wants.write ? POLLOUT : 0)), 0};
        if (::poll(&socket, 1, 20'000) <= 0) return false;
        driver_->advance();
        return true;
    }

private:
    std::unique_ptr<sql::driver> driver_;
};

}  // namespace mortise::inline v0::stores::mysql::servers
