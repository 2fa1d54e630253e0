// What an operator types into psql, for tests.
#pragma once

#include <mortise/config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::postgres::servers {

// A session of its own. Blocks. Throws std::runtime_error with what the server said.
class console {
public:
    explicit console(const std::string& options);  // "host=127.0.0.1 port=5432 user=postgres"
    ~console();
    console(console&&) noexcept;

    std::string ask(const std::string& statement);                  // the first value of the first row; empty: none
    std::vector<std::string> column(const std::string& statement);  // the first value of each row

private:
    struct session;
    std::unique_ptr<session> session_;
};

}  // namespace mortise::inline v0::stores::postgres::servers
