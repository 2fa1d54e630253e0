// What `mortise doctor` finds.
#pragma once

#include "stores/mysql/settings.hpp"
#include "stores/sql/connection.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql {

struct diagnosis {
    std::string failed{};   // why the server could not be asked
    bool hopeless = false;  // and asking again will not help
    spi::duration trip{};   // 0: not measured
    std::string version{};
    std::map<std::string, std::string> variables{};  // those that matter and that this server has
    std::optional<std::string> denied{};             // why we may not write to our tables
};

std::vector<finding> findings_of(const settings& how, const diagnosis& seen);  // pure

// Of strategy=row: what its variables tell.
const sql::statement& server_variables();
std::vector<finding> findings_of(const settings& how, const sql::result& variables);

void diagnose(const settings& how, sql::connection& server, spi::clock& clock, spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::mysql
