#include "stores/postgres/diagnostics.hpp"

#include "base/text.hpp"

#include <cstdint>
#include <string>

namespace mortise::inline v0::stores::postgres {
namespace {

using enum finding::grade;

enum column : std::size_t {
    version,
    fsync,
    commits,
    most_connections,
    connections,
    synchronous_standbys,
    standbys,
    encrypted,
    superuser,
    may_create,
    has_sequence,
    may_count,
    full_page_writes,
};

// In the order of the columns.
const sql::statement facts_query{
    "SELECT current_setting('server_version')::text, current_setting('fsync'), "
    "current_setting('synchronous_commit'), current_setting('max_connections')::bigint - "
    "current_setting('superuser_reserved_connections')::bigint, "
    "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
    "current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication), "
    "coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false), "
    "(SELECT rolsuper FROM pg_roles WHERE rolname = current_user), "
    "has_database_privilege(current_database(), 'CREATE'), to_regclass('mortise_tokens') IS NOT NULL, "
    "coalesce(has_sequence_privilege(to_regclass('mortise_tokens')::oid, 'USAGE'), false), "
    "current_setting('full_page_writes')"};

std::string text_in(const sql::values& row, column which) {
    const auto* const text = std::get_if<std::string>(&sql::value_at(row, which));
    return text != nullptr ? *text : std::string{};
}

std::int64_t number_in(const sql::values& row, column which) {
    const auto* const number = std::get_if<std::int64_t>(&sql::value_at(row, which));
    return number != nullptr ? *number : 0;
}

void judge_durability(const sql::values& row, std::vector<finding>& found) {
    if (text_in(row, fsync) != "on")
        found.push_back({problem, "fsync is off: a crash of the machine can corrupt the database and repeat tokens",
                         "set fsync = on in postgresql.conf"});
    if (text_in(row, full_page_writes) != "on")
        found.push_back({warning, "full_page_writes is off: a crash of the machine can corrupt the database",
                         "set full_page_writes = on, unless the file system makes it needless"});
    if (text_in(row, commits) == "off")
        found.push_back({warning, "synchronous_commit is off: a crash can forget what was committed, tokens too",
                         "set it on for the user of the locks: ALTER ROLE ... SET synchronous_commit = on"});
    if (number_in(row, standbys) > 0 && text_in(row, synchronous_standbys).empty())
        found.push_back({warning,
                         "replicas are asynchronous: if one is promoted, it may lack the latest claims and tokens",
                         "set synchronous_standby_names, or fence the resource by what it has seen"});
    else if (!text_in(row, synchronous_standbys).empty())
        found.push_back({good, "commits wait for " + base::quoted(text_in(row, synchronous_standbys)), {}});
}

void judge_rights(const settings& settings, const sql::values& row, std::vector<finding>& found) {
    if (number_in(row, superuser) != 0)
        found.push_back({note, "the user " + base::quoted(settings.user) + " is a superuser, which locks do not need",
                         "use a role of its own; `mortise schema` prints the rights it needs"});
    if (settings.kind != settings::strategy::advisory) return;
    const bool there = number_in(row, has_sequence) != 0;
    if (there && number_in(row, may_count) == 0)
        found.push_back({problem, "the user " + base::quoted(settings.user) + " may not use the sequence of the tokens",
                         "run what `mortise schema` prints as the owner of the schema"});
    if (!there && number_in(row, may_create) == 0)
        found.push_back({problem,
                         "the schema " + base::quoted(settings.schema) + " is not set up, and the user " +
                             base::quoted(settings.user) + " may not do it",
                         "run what `mortise schema` prints as the owner of the database"});
}

}  // namespace

const sql::statement& facts_statement() {
    return facts_query;
}

std::vector<finding> findings_of(const settings& settings, const sql::result& facts) {
    std::vector<finding> found;
    if (!facts.how.ok() || facts.rows.empty()) {
        found.push_back({problem, "locks cannot be taken: " + facts.how.detail,
                         "check the address, the server and what its user may do"});
        return found;
    }
    const sql::values& row = facts.rows.front();
    found.push_back({good, settings.shown() + " is PostgreSQL " + text_in(row, version), {}});
    judge_durability(row, found);
    judge_rights(settings, row, found);
    const std::int64_t most = number_in(row, most_connections);
    const std::int64_t used = number_in(row, connections);
    const std::int64_t ours =
        1 + (settings.kind == settings::strategy::advisory ? static_cast<std::int64_t>(settings.wait_connections) : 0);
    const std::string counted = std::to_string(used) + " of " + std::to_string(most) +
                                " connections are in use, and each " + "client takes up to " + std::to_string(ours);
    if (most - used < 2 * ours)
        found.push_back({warning, counted, "raise max_connections, or run fewer clients"});
    else
        found.push_back({good, counted, {}});
    if (settings.servers.size() == 1)
        found.push_back({note, "the address names one server: while it is down nobody gets a lock",
                         "name its replicas too, postgres://a,b/...: the one that takes changes is used"});
    if (number_in(row, encrypted) == 0)
        found.push_back({note, "the connection is not encrypted", "set up TLS in the server, and add tls=on"});
    else if (settings.tls != settings::encryption::verified)
        found.push_back(
            {note, "the connection is encrypted, but the server is not verified", "add tls=on and ca=FILE"});
    return found;
}

}  // namespace mortise::inline v0::stores::postgres
