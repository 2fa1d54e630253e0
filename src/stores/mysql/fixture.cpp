#include "stores/mysql/fixture.hpp"

#include "stores/mysql/servers/server.hpp"
#include "stores/sql/row_line.hpp"
#include "support/server_faults.hpp"

#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace mortise::inline v0::stores::mysql {
namespace {

// One server for all fixtures of a process.
std::shared_ptr<servers::server> the_server() {
    static std::weak_ptr<servers::server> there;
    std::shared_ptr<servers::server> one = there.lock();
    if (!one) there = one = std::make_shared<servers::server>();
    return one;
}

// A strategy whose locks belong to a connection. The server is started by the first fresh_url().
class bound_fixture final : public spi::fixture {
public:
    bound_fixture(std::string_view name, std::string strategy) : name_(name), strategy_(std::move(strategy)) {}

    std::string_view store() const noexcept override { return name_; }

    std::string fresh_url() override {
        if (!server_) server_ = the_server();
        return server_->fresh_url() + "?connections=200&strategy=" + strategy_;
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex" || what == "semaphore")
            return "a connection holds such a lock alone, and the server has no other kind";
        if (what == "lists.say_what_is_left_of_a_lease_where_that_is_known")
            return "the server keeps a lock as long as its connection, and knows nothing of its owner's lease";
        if (what == "audits") return "the server shows neither the ids of claims nor who waits";
        return {};
    }
    std::vector<spi::stored_claim> records_at(const std::string&) const override { return {}; }

    // Such a lock goes with its connection, and its holder hears of it a moment later.
    std::vector<spi::server_fault> faults() override {
        return {{.name = "connections ended with KILL",
                 .forgets = true,
                 .strike = [this] { return ended_connections() > 0; },
                 .heal = [] { return true; }}};
    }

private:
    std::size_t ended_connections() const {
        std::istringstream ids{server_->run("SELECT id FROM information_schema.processlist WHERE user = 'mortise'")};
        std::size_t ended = 0;
        for (std::string id; ids >> id; ++ended) try {
                server_->run("KILL " + id);
            } catch (const std::runtime_error&) {  // it went by itself
            }
        return ended;
    }

    const std::string_view name_;
    const std::string strategy_;
    std::shared_ptr<servers::server> server_;
};

class row_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "mysql"; }

    std::string fresh_url() override {
        if (!server_) server_ = the_server();
        return server_->fresh_url();
    }

    std::string reason_against(std::string_view) const override { return {}; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        std::vector<spi::stored_claim> all;
        if (!used(url)) return all;
        std::istringstream rows{
            server_->run("SELECT HEX(id), confirmed, seq, HEX(name) FROM mortise_claims WHERE expires > "
                         "UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 ORDER BY seq",
                         database(url))};
        std::string id;
        int holds = 0;
        std::string seq;
        std::string name;
        while (rows >> id >> holds >> seq >> name)
            all.push_back(
                {.name = text_of(name), .id = sql::id_in_hex(id), .holds = holds != 0, .where = "row " + seq});
        return all;
    }
    remains remains_at(const std::string& url) const override {
        if (!used(url)) return {};
        std::istringstream counts{
            server_->run("SELECT (SELECT COUNT(*) FROM mortise_claims), (SELECT COUNT(*) FROM "
                         "mortise_floors), (SELECT COUNT(*) FROM mortise_gone)",
                         database(url))};
        int claims = 0;
        int floors = 0;
        int marks = 0;
        counts >> claims >> floors >> marks;
        return {.clean = claims == 0 && floors == 0,
                .figures = "claims=" + std::to_string(claims) + " floors=" + std::to_string(floors) +
                           " marks=" + std::to_string(marks)};
    }

    std::vector<spi::server_fault> faults() override { return testing::frozen_and_killed(*server_); }

private:
    static std::string database(const std::string& url) { return url.substr(url.rfind('/') + 1); }
    static std::string text_of(const std::string& hex) {
        std::string text;
        for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
            text.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
        return text;
    }
    bool used(const std::string& url) const {
        return server_
                   ->run(
                       "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'mortise_claims' AND "
                       "table_schema = '" +
                       database(url) + "'")
                   .substr(0, 1) == "1";
    }

    std::shared_ptr<servers::server> server_;
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<row_fixture>());
    all.push_back(std::make_unique<bound_fixture>("mysql_get_lock", "get_lock"));
    all.push_back(std::make_unique<bound_fixture>("mysql_for_update", "for_update"));
    return all;
}

}  // namespace mortise::inline v0::stores::mysql
