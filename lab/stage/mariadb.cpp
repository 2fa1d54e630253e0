#include "lab/stage/mariadb.hpp"

#include "checker/faults/movable_clock.hpp"
#include "stores/mysql/servers/server.hpp"

#include <algorithm>
#include <stdexcept>

namespace lab {
namespace {

constexpr const char* database = "t";
constexpr const char* stage_hand = "stage_hand";
constexpr std::chrono::minutes patience{1};

std::string quoted_user(const std::string& name) {
    return "'" + name + "'@'127.0.0.1'";
}

class private_mariadb final : public mariadb {
public:
    explicit private_mariadb(const std::string& shim) : clock_(shim) {
        const std::string me = quoted_user(stage_hand);
        server_.run("CREATE DATABASE t; CREATE USER " + me + " IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO " + me +
                    " WITH GRANT OPTION");
        hand_ = std::make_unique<raw_sql>(account_of(stage_hand));
    }

    // A server that waits on behalf of a client does not see that it has gone, so it is told. Our own tables stay, empty, since
    // they take a while to make. They remember the last tokens.
    void clear() override {
        for (const std::string& user :
             (*hand_)(
                 "SELECT DISTINCT user FROM information_schema.processlist WHERE db = 't' AND user <> 'stage_hand'")
                 .rows)
            run("KILL USER '" + user + "'");
        await("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE db = 't' AND user <> 'stage_hand'",
              "clients of MariaDB do not leave");
        const sql_answer tables = (*hand_)("SELECT table_name FROM information_schema.tables WHERE table_schema = 't'");
        for (const std::string& each : tables.rows) {
            if (!each.starts_with("mortise_")) run("DROP TABLE " + each);
            if (each == "mortise_claims" || each == "mortise_gone" || each == "mortise_versions")
                run("DELETE FROM " + each);
        }
    }

    void run(const std::string& statements) override {
        for (std::size_t from = 0; from < statements.size();) {
            const std::size_t ends = std::min(statements.find("; ", from), statements.size());
            (*hand_)(statements.substr(from, ends - from));
            from = ends + 2;
        }
    }

    std::string value(const std::string& statement) override { return (*hand_)(statement).value().value_or(""); }

    void set_ahead(std::chrono::nanoseconds by) override { clock_.set(std::chrono::ceil<std::chrono::seconds>(by)); }

    sql_account account_of(const std::string& user) const override {
        return {.host = "127.0.0.1", .port = server_.port(), .user = user, .database = database};
    }

    void admit(const std::string& user) override {
        run("CREATE USER IF NOT EXISTS " + quoted_user(user) + " IDENTIFIED BY 'secret'; GRANT ALL ON t.* TO " +
            quoted_user(user));
    }

    void await_departure(const std::string& user) override {
        await("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE user = '" + user + "'",
              "MariaDB does not see that " + user + " has gone");
    }

    int lock_waits() override {
        return std::stoi(
            value("SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
                  "'Innodb_row_lock_current_waits'"));
    }

private:
    // Each look is a question to the server, which answers within a fraction of a millisecond.
    void await(const std::string& is_true, const std::string& trouble) {
        const auto give_up = std::chrono::steady_clock::now() + patience;
        while (value(is_true) != "1")
            if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error(trouble);
    }

    mortise::testing::movable_clock clock_;
    // A clock that is moved makes a wait look long. Newer servers refuse what older ones take: a write on an old snapshot.
    mortise::stores::mysql::servers::server server_{
        {"--innodb-fatal-semaphore-wait-threshold=4294967295", "--loose-innodb-snapshot-isolation=OFF"},
        clock_.command()};
    std::unique_ptr<raw_sql> hand_{};
};

}  // namespace

std::unique_ptr<mariadb> start_mariadb(const std::string& shim) {
    return std::make_unique<private_mariadb>(shim);
}

}  // namespace lab
