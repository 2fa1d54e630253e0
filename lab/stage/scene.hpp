// What actors find on the stage.
#pragma once

#include "lab/stage/time.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace lab {

struct scene {
    struct address {
        std::string host{};
        std::uint16_t port = 0;

        std::string url() const { return "redis://" + host + ":" + std::to_string(port); }
    };
    std::vector<address> redis{};      // a plain connection goes to the first, unless it says which
    std::string store{};               // the URL for what is mended
    const stage_time* time = nullptr;  // null: time passes by itself
    std::vector<std::string> keys{};   // whose state is shown after every command
};

}  // namespace lab
