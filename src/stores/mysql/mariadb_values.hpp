// Values of statements, as libmariadb has them.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mariadb/mysql.h>

namespace mortise::inline v0::stores::mysql {

// Parameters of a statement, in the library's form. They point into the values.
class parameters {
public:
    explicit parameters(std::span<const sql::value> values) : binds_(values.size()) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            MYSQL_BIND& bind = binds_[i];
            if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
                bind.buffer_type = MYSQL_TYPE_LONGLONG;
                bind.buffer = const_cast<std::int64_t*>(number);  // it is read only
            } else if (const auto* bytes = std::get_if<std::string>(&values[i])) {
                bind.buffer_type = MYSQL_TYPE_BLOB;
                bind.buffer = const_cast<char*>(bytes->data());
                bind.buffer_length = static_cast<unsigned long>(bytes->size());
            } else {
                bind.buffer_type = MYSQL_TYPE_NULL;
            }
        }
    }
    std::size_t size() const { return binds_.size(); }
    MYSQL_BIND* all() { return binds_.data(); }

private:
    std::vector<MYSQL_BIND> binds_;
};

// The rows of a result that the library has stored. None: the server gives a column a length that nothing of ours has; the library
// believes it.
std::optional<std::vector<sql::values>> rows_of(MYSQL_STMT* from);

}  // namespace mortise::inline v0::stores::mysql
