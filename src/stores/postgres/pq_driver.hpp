// A connection to PostgreSQL by libpq. Only this driver, the baseline and the tests know libpq.
//
// Statements are pipelined, each with a synchronisation of its own, so that each is its own transaction and an error in one does
// not touch the next. A result counts when its synchronisation has come: the server commits there.
#pragma once

#include "stores/postgres/settings.hpp"
#include "stores/sql/driver.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::stores::postgres {

// What a session is for.
struct session_plan {
    std::string called;                      // application_name, cut by the server after 63 bytes
    std::chrono::milliseconds ends_idle{0};  // the server ends the session if it is silent for so long; 0: it does not
};

std::unique_ptr<sql::driver> make_driver(const settings& settings, const session_plan& plan);

// An identifier in double quotes.
std::string quoted_identifier(std::string_view name);

}  // namespace mortise::inline v0::stores::postgres
