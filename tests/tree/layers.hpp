// Who may include whom.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tree {

// What an include line leads to: a kind of foreign header, or a layer of ours by its folder.
inline constexpr std::string_view standard = "the standard library";
inline constexpr std::string_view system_header = "the system";
inline constexpr std::string_view library = "a library";
inline constexpr std::string_view public_headers = "include/mortise";
inline constexpr std::string_view spi = "include/mortise/spi";
inline constexpr std::string_view asio = "include/mortise/asio";  // and asio.hpp

inline constexpr std::string_view pattern_headers = "include/mortise/patterns";

inline constexpr std::string_view baseline_of_a_store = "src/stores/*/baseline";
inline constexpr std::string_view shared_by_databases = "src/stores/sql";  // no store of its own

struct layer {
    std::string_view folder;                    // the longest folder that is a prefix of a file's path decides
    std::vector<std::string_view> may_include;  // besides itself and the standard library
};

// Arrows point down only. What is not in a row is forbidden.
inline const std::vector<layer>& layers() {
    static const std::vector<layer> table{
        {public_headers, {}},
        {spi, {public_headers}},
        {asio, {public_headers, library}},
        {"include/mortise/asio.hpp", {public_headers, library, asio}},
        {pattern_headers, {public_headers}},
        {"src/patterns", {public_headers, pattern_headers}},
        {"src/base", {public_headers, spi, system_header}},
        {"src/net", {public_headers, spi, system_header, library, "src/base"}},
        {"src/core", {public_headers, spi, system_header, "src/base"}},
        {"src/locks", {public_headers, "src/core"}},
        {"src/stores", {public_headers, spi, system_header, library, "src/base", "src/net", shared_by_databases}},
        {shared_by_databases, {public_headers, spi, system_header, "src/base", "src/net"}},
        {"src/baseline", {public_headers, "src/base"}},
        {baseline_of_a_store,
         {public_headers, system_header, library, "src/base", "src/net", "src/stores", shared_by_databases,
          "src/baseline"}},
        {"tools", {public_headers, pattern_headers, system_header, "tools/mortise/bench"}},
        {"tools/mortise/bench", {public_headers, system_header, "tools", "src/baseline"}},
        {"fuzz", {public_headers, spi, system_header, "src/base", "src/net", "src/stores", "tools", "tests"}},
        {"checker", {public_headers, spi, system_header, "src/base", "tools", "tests"}},
        {"lab", {public_headers, pattern_headers, spi, system_header, "tools", "examples", "checker", "tests"}},
        {"lab/stage/raw_redis.cpp", {system_header, library, "lab"}},
        {"lab/stage/raw_sql.cpp", {library, "lab"}},
        {"examples", {public_headers, pattern_headers, system_header}},
        {"examples/coroutine_asio.cpp", {public_headers, asio, library}},
        {"docs", {public_headers, spi}},
        {"tests",
         {public_headers,
          pattern_headers,
          spi,
          asio,
          system_header,
          library,
          "examples",
          "lab",
          "checker",
          "src/patterns",
          "src/base",
          "src/net",
          "src/core",
          "src/locks",
          "src/stores",
          shared_by_databases,
          "src/baseline",
          baseline_of_a_store,
          "tools",
          "tools/mortise/bench"}},
        {"tests/consumer", {public_headers, pattern_headers}},
        {"tests/consumer/asio.cpp", {public_headers, asio, library}},
        {"packaging", {public_headers}},
    };
    return table;
}

// Why this line may not stand in that file (path from the root of the repository); nothing when it may, or when it is
// no include. A *_test.cpp counts as tests/ wherever it lies, and so do fixture.* and servers/ of a store. One store may not
// include another, but its tests may start the other's servers.
std::optional<std::string> objection(std::string_view file, std::string_view line);

// The path from the root of the header of ours that this line of that file includes in quotes; empty if it includes none.
std::string included(std::string_view file, std::string_view line);

}  // namespace tree
