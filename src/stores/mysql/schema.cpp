#include "stores/mysql/schema.hpp"

#include "stores/mysql/row_dialect.hpp"
#include "stores/mysql/statements.hpp"

namespace mortise::inline v0::stores::mysql {
namespace {

std::string quoted_identifier(const std::string& name) {
    std::string quoted = "`";
    for (const char c : name) quoted += c == '`' ? std::string{"``"} : std::string{c};
    return quoted + "`";
}

std::string in_database(const std::string& database) {
    return "CREATE DATABASE IF NOT EXISTS " + database + ";\nUSE " + database + ";\n";
}

std::string quoted_user(const settings& how) {
    std::string user = "'";
    for (const char c : how.user) user += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return user + "'@'%'";
}

}  // namespace

std::string bound_schema(const settings& how) {
    const std::string database = quoted_identifier(how.database);
    const std::string user = quoted_user(how);
    std::string all = in_database(database);
    for (const sql::statement& one : bound_statements{how.by}.schema) all += one.text + ";\n";
    // Waits are ended with KILL, which everybody may do to connections of the same user.
    all += "GRANT SELECT, INSERT, DELETE ON " + database + ".mortise_holds TO " + user + ";\n";
    if (how.by == strategy::for_update)
        all += "GRANT SELECT, INSERT, UPDATE ON " + database + ".mortise_rows TO " + user + ";\n";
    return all;
}

// The routines run with the rights of whoever makes them. There are semicolons in them, so another delimiter ends them.
std::string row_schema(const settings& how) {
    const std::string database = quoted_identifier(how.database);
    const std::string user = quoted_user(how);
    std::string all = in_database(database) + "DELIMITER //\n";
    for (const sql::statement& one : row_dialect().schema) all += one.text + "\n//\n";
    all += "DELIMITER ;\n";
    all += "GRANT EXECUTE ON " + database + ".* TO " + user + ";\n";
    all += "GRANT SELECT ON " + database + ".mortise_claims TO " + user + ";\n";
    all += "GRANT SELECT, DELETE ON " + database + ".mortise_gone TO " + user + ";\n";
    return all;
}

}  // namespace mortise::inline v0::stores::mysql
