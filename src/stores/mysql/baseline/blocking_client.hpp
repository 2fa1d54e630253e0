// The blocking calls of libmariadb.
#pragma once

#include "stores/mysql/settings.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql {

// A connection of its own. All verbs throw errc::unreachable.
class blocking_client {
public:
    explicit blocking_client(const settings& how);
    ~blocking_client();

    // The first column of the first row; empty if there is none.
    std::string ask(const std::string& statement);

    // A statement with bytes as its parameters: prepared once, its number is returned.
    std::size_t prepare(const std::string& statement);
    // How many rows it changed.
    std::uint64_t run(std::size_t prepared, std::vector<std::string> bound);
    // Of a routine: a column of all rows that it answers; none if it was ended by KILL QUERY. Repeated, rolled back, if it lost to
    // others in a deadlock.
    std::vector<std::string> call(std::size_t prepared, std::vector<std::optional<std::string>> bound,
                                  std::size_t column = 0);

private:
    struct handle;
    std::unique_ptr<handle> inside_;
};

}  // namespace mortise::inline v0::stores::mysql
