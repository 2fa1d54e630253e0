#include "stores/mysql/mariadb_values.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::inline v0::stores::mysql {
namespace {

// Of a column; the longest that we ask for is some hundred bytes.
constexpr unsigned long longest_text = 1UL << 20;

bool is_integer(enum_field_types type) {
    switch (type) {
        case MYSQL_TYPE_TINY:
        case MYSQL_TYPE_SHORT:
        case MYSQL_TYPE_INT24:
        case MYSQL_TYPE_LONG:
        case MYSQL_TYPE_LONGLONG:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::optional<std::vector<sql::values>> rows_of(MYSQL_STMT* from) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> about{mysql_stmt_result_metadata(from),
                                                                         &mysql_free_result};
    if (!about) return std::nullopt;
    const MYSQL_FIELD* const fields = mysql_fetch_fields(about.get());
    const std::size_t columns = mysql_num_fields(about.get());
    std::vector<MYSQL_BIND> binds(columns);
    std::vector<std::int64_t> numbers(columns);
    std::vector<std::string> texts(columns);
    std::vector<unsigned long> lengths(columns);
    std::vector<my_bool> nulls(columns);
    for (std::size_t i = 0; i < columns; ++i) {
        if (is_integer(fields[i].type)) {
            binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
            binds[i].buffer = &numbers[i];
        } else {
            if (fields[i].max_length > longest_text) return std::nullopt;
            texts[i].resize(fields[i].max_length);
            binds[i].buffer_type = MYSQL_TYPE_BLOB;
            binds[i].buffer = texts[i].data();
            binds[i].buffer_length = fields[i].max_length;
        }
        binds[i].length = &lengths[i];
        binds[i].is_null = &nulls[i];
    }
    std::vector<sql::values> rows;
    mysql_stmt_bind_result(from, binds.data());
    while (mysql_stmt_fetch(from) == 0) {
        sql::values& row = rows.emplace_back(columns);
        for (std::size_t i = 0; i < columns; ++i) {
            if (nulls[i]) continue;
            if (binds[i].buffer_type == MYSQL_TYPE_LONGLONG)
                row[i] = numbers[i];
            else
                row[i] = texts[i].substr(0, lengths[i]);
        }
    }
    return rows;
}

}  // namespace mortise::inline v0::stores::mysql
