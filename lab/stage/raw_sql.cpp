#include "lab/stage/raw_sql.hpp"

#include <utility>

#include <mariadb/mysql.h>

namespace lab {
namespace {

[[noreturn]] void fail(MYSQL* on, const std::string& what) {
    const unsigned number = mysql_errno(on);
    throw sql_error(number, what + ": " + mysql_error(on) + " (error " + std::to_string(number) + ")");
}

std::vector<std::string> rows_of(MYSQL_RES* result) {
    std::vector<std::string> all;
    while (const MYSQL_ROW row = mysql_fetch_row(result)) {
        std::string line;
        for (unsigned i = 0; i < mysql_num_fields(result); ++i)
            line += (i == 0 ? "" : ", ") + std::string(row[i] ? row[i] : "NULL");
        all.push_back(std::move(line));
    }
    return all;
}

bool changes_rows(const std::string& statement) {
    const std::string verb = statement.substr(0, statement.find(' '));
    return verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" || verb == "REPLACE";
}

text counted(std::uint64_t rows) {
    const std::string number = std::to_string(rows);
    return {rows == 0 ? "no row" : rows == 1 ? "1 row" : number + " rows", rows == 0 ? "没有行" : number + " 行"};
}

}  // namespace

text to_text(const sql_answer& answer) {
    switch (answer.error) {
        case 0:
            break;
        case sql_answer::duplicate:
            return {"error 1062: duplicate key", "错误 1062：重复的键"};
        case sql_answer::waited_too_long:
            return {"error 1205: lock wait timeout", "错误 1205：等锁超时"};
        default:
            return {"error 1213: deadlock, rolled back", "错误 1213：死锁，已回滚"};
    }
    if (!answer.counts_rows) return "OK";
    if (!answer.returns_rows) return counted(answer.changed);
    if (answer.rows.empty()) return counted(0);
    std::string all;
    for (const std::string& row : answer.rows) all += (all.empty() ? "" : "; ") + row;
    return all;
}

raw_sql::raw_sql(const sql_account& where) : mysql_(mysql_init(nullptr), &mysql_close) {
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    mysql_optionsv(get(), MYSQL_OPT_PROTOCOL, &tcp);
    mysql_optionsv(get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!mysql_real_connect(get(), where.host.c_str(), where.user.c_str(), sql_account::password,
                            where.database.c_str(), where.port, nullptr, 0))
        fail(get(), "no connection");
}

sql_answer raw_sql::operator()(const std::string& statement) {
    sql_answer answer;
    if (mysql_real_query(get(), statement.data(), static_cast<unsigned long>(statement.size())) != 0) {
        answer.error = mysql_errno(get());
        const bool told_in_stories = answer.error == sql_answer::duplicate ||
                                     answer.error == sql_answer::waited_too_long ||
                                     answer.error == sql_answer::deadlock;
        if (!told_in_stories) fail(get(), statement);
        return answer;
    }
    answer.returns_rows = mysql_field_count(get()) > 0;
    answer.counts_rows = answer.returns_rows || changes_rows(statement);
    answer.changed = answer.returns_rows ? 0 : mysql_affected_rows(get());
    if (!answer.returns_rows) return answer;
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result{mysql_store_result(get()), &mysql_free_result};
    if (!result) fail(get(), statement);
    answer.rows = rows_of(result.get());
    return answer;
}

void raw_sql::send(const std::string& statement) {
    if (mysql_send_query(get(), statement.data(), static_cast<unsigned long>(statement.size())) != 0)
        fail(get(), statement);
}

}  // namespace lab
