// What actors find on the stage.
#pragma once

#include "lab/stage/redis_address.hpp"
#include "lab/stage/sql_account.hpp"
#include "lab/stage/time.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lab {

struct scene {
    std::vector<redis_address> redis{};  // a plain connection goes to the first, unless it says which
    std::string store{};                 // the URL for what is mended
    std::optional<sql_account> sql{};    // without a user: each actor connects as itself
    std::string options{};               // of the URL that it makes of it
    std::string etcd{};                  // host:port,host:port
    const stage_time* time = nullptr;    // null: time passes by itself
    std::vector<std::string> keys{};     // whose state is shown after every command
};

}  // namespace lab
