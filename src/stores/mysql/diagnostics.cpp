#include "stores/mysql/diagnostics.hpp"

#include "base/text.hpp"
#include "stores/mysql/statements.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

using grade = finding::grade;

const sql::statement variables_statement{
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'wait_timeout', 'read_only', "
    "'super_read_only', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'binlog_format', 'wsrep_on', "
    "'group_replication_group_name', 'max_connections', 'sql_log_bin', 'rpl_semi_sync_master_enabled', "
    "'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_master_timeout', 'innodb_lock_wait_timeout')"};
const sql::statement trip_statement{"SELECT 1"};

std::string text_of(const sql::value& of) {
    if (const auto* const text = std::get_if<std::string>(&of)) return *text;
    if (const auto* const number = std::get_if<std::int64_t>(&of)) return std::to_string(*number);
    return {};
}

unsigned major_of(const std::string& version) {
    return base::number_in<unsigned>(version.substr(0, version.find('.')), 0, 10'000).value_or(0);
}

// Of a server with a binary log: what a replica that is promoted may lack.
finding replication_in(const std::function<std::string(const std::string&)>& value) {
    if (value("rpl_semi_sync_master_enabled") != "ON")
        return {grade::note,
                "if an asynchronous replica is promoted, it may lack the last tokens, and locks are not replicated",
                "after a failover, wait until former holders have noticed"};
    if (value("rpl_semi_sync_master_wait_point") != "AFTER_SYNC")
        return {grade::warning,
                "rpl_semi_sync_master_wait_point is " + value("rpl_semi_sync_master_wait_point") +
                    ": a grant can be seen before a replica has it, and be gone after a failover",
                "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC"};
    return {grade::good,
            "commits wait for a semi-synchronous replica, at most " + value("rpl_semi_sync_master_timeout") + " ms",
            {}};
}

}  // namespace

const sql::statement& server_variables() {
    return variables_statement;
}

std::vector<finding> findings_of(const settings& how, const sql::result& variables) {
    diagnosis seen;
    if (!variables.how.ok()) seen.failed = variables.how.detail;
    for (const sql::values& row : variables.rows)
        seen.variables[text_of(sql::value_at(row, 0))] = text_of(sql::value_at(row, 1));
    return findings_of(how, seen);
}

std::vector<finding> findings_of(const settings& how, const diagnosis& seen) {
    std::vector<finding> all;
    if (!seen.failed.empty()) {
        all.push_back(
            {grade::problem, how.shown() + ": " + seen.failed,
             seen.hopeless ? "correct the address, or the rights of the user" : "start the server, or open its port"});
        return all;
    }
    const auto value = [&](const std::string& name) {
        const auto found = seen.variables.find(name);
        return found != seen.variables.end() ? found->second : std::string{};
    };
    const auto on = [&](const std::string& name) { return value(name) == "ON" || value(name) == "1"; };

    const std::string version = value("version");
    const bool mariadb = version.find("MariaDB") != std::string::npos;
    const bool old = mariadb ? major_of(version) < 10 : major_of(version) < 8;
    const std::string trip = seen.trip > spi::duration{} ? ", round trip " + base::readable(seen.trip) : "";
    all.push_back({grade::good, (mariadb ? "MariaDB " : "MySQL ") + version + trip, {}});
    if (old)
        all.push_back({grade::problem,
                       "servers older than MariaDB 10.6 and MySQL 8.0 forget AUTO_INCREMENT numbers when they restart",
                       "upgrade the server"});
    else if (!mariadb)
        all.push_back({grade::note, "Mortise was tested with MariaDB only; MySQL should do the same", {}});

    if (on("read_only") || on("super_read_only"))
        all.push_back({grade::problem, "the server is read-only", "name the primary in the address"});
    if (on("wsrep_on"))
        all.push_back({how.bound() ? grade::problem : grade::warning,
                       "this is a node of a Galera cluster: named locks and row locks are of one node each",
                       "let all clients connect to the same node"});
    if (!value("group_replication_group_name").empty())
        all.push_back({how.bound() ? grade::problem : grade::warning,
                       "this is a member of a replication group: named locks and row locks are of one member each",
                       "let all clients connect to the primary"});
    if (!value("innodb_flush_log_at_trx_commit").empty() && value("innodb_flush_log_at_trx_commit") != "1")
        all.push_back({grade::warning,
                       "innodb_flush_log_at_trx_commit is " + value("innodb_flush_log_at_trx_commit") +
                           ": after a crash of the machine tokens of the last second may be given out again",
                       "SET GLOBAL innodb_flush_log_at_trx_commit = 1"});
    if (on("log_bin") && value("sync_binlog") != "1")
        all.push_back({grade::warning,
                       "sync_binlog is " + value("sync_binlog") +
                           ": after a crash of the machine replicas may lack the last tokens, or have others",
                       "SET GLOBAL sync_binlog = 1"});
    if (on("log_bin") && value("binlog_format") == "STATEMENT")
        all.push_back({grade::problem, "binlog_format is STATEMENT, and InnoDB refuses our statements with it",
                       "SET GLOBAL binlog_format = 'MIXED', or ROW"});
    if (on("log_bin")) all.push_back(replication_in(value));
    if (seen.denied)
        all.push_back({grade::problem, "we may not use our tables: " + *seen.denied,
                       "have an administrator run what `mortise schema` prints"});
    if (how.bound())
        all.push_back({grade::note,
                       "each lock that is held or waited for takes a connection: at most " +
                           std::to_string(how.connections) + " a client (option connections), of the server's " +
                           value("max_connections"),
                       {}});
    return all;
}

void diagnose(const settings& how, sql::connection& server, spi::clock& clock, spi::reply<std::vector<finding>> done) {
    struct check {
        settings how;
        diagnosis seen{};
        bound_statements says;
        spi::reply<std::vector<finding>> done;
    };
    const auto all = std::make_shared<check>(check{
        .how = how, .says = bound_statements{how.bound() ? how.by : strategy::get_lock}, .done = std::move(done)});
    const spi::time_point sent = clock.now();
    const auto finish = [all] { all->done(findings_of(all->how, all->seen)); };
    server.run(trip_statement, {}, [all, &server, &clock, sent, finish](const sql::result& got) {
        all->seen.trip = clock.now() - sent;
        if (!got.how.ok()) {
            all->seen.failed = got.how.detail;
            all->seen.hopeless = got.how.hopeless;
            return finish();
        }
        server.run(variables_statement, {}, [all, &server, finish](const sql::result& listed) {
            for (const sql::values& row : listed.rows)
                all->seen.variables[text_of(sql::value_at(row, 0))] = text_of(sql::value_at(row, 1));
            // It deletes nothing, but only who may delete is let.
            const std::int64_t none = 0;
            server.run(all->says.forget_range, {none, none, none}, [all, finish](const sql::result& tried) {
                using kind = sql::outcome::kind;
                if (tried.how.is == kind::denied || tried.how.is == kind::foreign) all->seen.denied = tried.how.detail;
                finish();
            });
        });
    });
}

}  // namespace mortise::inline v0::stores::mysql
