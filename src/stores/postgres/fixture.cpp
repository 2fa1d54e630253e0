#include "stores/postgres/fixture.hpp"

#include "stores/postgres/servers/server.hpp"
#include "stores/sql/row_line.hpp"

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::postgres {
namespace {

// A server that is started by the first fresh_url().
class advisory_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "postgres_advisory"; }

    std::string fresh_url() override {
        if (!server_) server_ = std::make_unique<servers::server>();
        return server_->url("strategy=advisory&schema=t" + std::to_string(++made_));
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex")
            return "an advisory lock that is shared starves whoever wants it alone, and cannot be upgraded";
        if (what == "outside.a_lock_is_broken_if_it_is_still_the_one_that_was_looked_at" ||
            what == "multi.if_one_is_lost_all_are_free" ||
            what == "elected.a_term_that_is_taken_away_is_told_and_can_be_won_again")
            return "the server keeps no tokens by which a hold could be named; an operator ends a session, with all it "
                   "holds";
        if (what == "refusals.name_the_holder" ||
            what == "refusals.of_a_bounded_wait_say_timed_out_and_name_holder_and_place")
            return "the server knows which session has a lock, and not the token of its holder";
        if (what == "audits") return "the server knows sessions, from which no claim can be told";
        if (what == "names of holders") return "the server knows which session has a lock, and nothing of its claim";
        return {};
    }
    std::vector<spi::stored_claim> records_at(const std::string&) const override { return {}; }

private:
    std::unique_ptr<servers::server> server_;
    int made_ = 0;
};

class row_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "postgres"; }

    std::vector<spi::server_fault> faults() override {
        return {{.name = "server killed",
                 .forgets_releases = true,  // what lets nobody in need not be on disk
                 .strike =
                     [this] {
                         server_->kill();
                         return !server_->running();
                     },
                 .heal =
                     [this] {
                         server_->start();
                         return server_->running();
                     }}};
    }

    std::string fresh_url() override {
        if (!server_) server_ = std::make_unique<servers::server>();
        return server_->url("schema=r" + std::to_string(++made_));
    }

    std::string reason_against(std::string_view) const override { return {}; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        const std::string schema = url.substr(url.rfind("schema=") + 7);
        auto console = server_->open_console();
        std::vector<spi::stored_claim> all;
        if (console.ask("SELECT to_regclass('" + schema + ".row_claims')").empty()) return all;
        for (const std::string& row : console.column(
                 "SELECT encode(id, 'hex') || ' ' || confirmed || ' ' || seq || ' ' || convert_from(name, 'UTF8') "
                 "FROM " +
                 schema + ".row_claims WHERE expires > " + schema + ".row_now() ORDER BY seq")) {
            std::istringstream in{row};
            std::string id;
            int holds = 0;
            std::string seq;
            in >> id >> holds >> seq;
            in.ignore(1);
            std::string name;
            std::getline(in, name);
            all.push_back({.name = name, .id = sql::id_in_hex(id), .holds = holds != 0, .where = "row " + seq});
        }
        return all;
    }
    remains remains_at(const std::string& url) const override {
        const std::string schema = url.substr(url.rfind("schema=") + 7);
        auto console = server_->open_console();
        if (console.ask("SELECT to_regclass('" + schema + ".row_claims')").empty()) return {};
        const auto count = [&](const std::string& table) {
            return console.ask("SELECT count(*) FROM " + schema + ".row_" + table);
        };
        const std::string claims = count("claims");
        const std::string floors = count("floors");
        return {.clean = claims == "0" && floors == "0",
                .figures = "claims=" + claims + " floors=" + floors + " marks=" + count("gone")};
    }

private:
    std::unique_ptr<servers::server> server_;
    int made_ = 0;
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<row_fixture>());
    all.push_back(std::make_unique<advisory_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::postgres
