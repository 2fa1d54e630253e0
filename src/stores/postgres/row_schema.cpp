#include "stores/postgres/row_schema.hpp"

#include "stores/postgres/pq_driver.hpp"
#include "stores/postgres/row_dialect.hpp"

namespace mortise::inline v0::stores::postgres {

std::string row_schema(const settings& settings) {
    const std::string schema = quoted_identifier(settings.schema);
    const std::string user = quoted_identifier(settings.user);
    std::string all;
    for (const sql::statement& one : row_dialect_in(settings.schema).schema) all += one.text + ";\n";
    for (const char* const right : {"USAGE ON SCHEMA", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA",
                                    "USAGE ON ALL SEQUENCES IN SCHEMA"})
        all += std::string("GRANT ") + right + " " + schema + " TO " + user + ";\n";
    return all;
}

}  // namespace mortise::inline v0::stores::postgres
