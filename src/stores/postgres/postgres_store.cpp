#include "stores/postgres/postgres_store.hpp"

#include "stores/postgres/advisory_store.hpp"
#include "stores/postgres/diagnostics.hpp"
#include "stores/postgres/pq_driver.hpp"
#include "stores/postgres/promises.hpp"
#include "stores/postgres/row_dialect.hpp"
#include "stores/postgres/row_schema.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/sql/row_store.hpp"

#include <memory>

namespace mortise::inline v0::stores::postgres {

spi::store_factory open(const base::url& address) {
    const settings found = settings::of(address);
    if (found.kind == settings::strategy::advisory)
        return [found](const spi::context& context) { return make_advisory_store(found, context); };
    const auto setup = std::make_shared<const sql::row_setup>(sql::row_setup{
        .dialect = row_dialect_in(found.schema),
        .promises = promises_of_row(found),
        .servers = found.servers,
        .make = [found] { return make_driver(found, {.called = "mortise row"}); },
        .timeout = found.timeout,
        .shown = found.shown(),
        .schema = row_schema(found),
        .questions = {{facts_statement(), [found](const sql::result& facts) { return findings_of(found, facts); }}},
    });
    return [setup](const spi::context& context) { return sql::make_row_store(setup, context); };
}

}  // namespace mortise::inline v0::stores::postgres
