// TLS: who is let in, and what is said to those who are not.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/postgres/servers/suite.hpp"
#include "support/certificates.hpp"

#include <mortise/error.hpp>

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace servers;
using ::testing::AllOf;
using testing::certificates;
using ::testing::HasSubstr;
using ::testing::Not;

class postgres_tls : public ::testing::TestWithParam<const char*> {
protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<server>(server::setup{.access = "hostssl all client 127.0.0.1/32 cert\n"
                                                                   "hostssl all shy 127.0.0.1/32 scram-sha-256\n"
                                                                   "hostnossl all shy 127.0.0.1/32 reject\n"});
        files_ = std::make_unique<certificates>(home_->directory());
        console psql = server_->open_console();
        std::filesystem::copy_file(files_->authority, server_->file("ca.pem"));
        server_->hand_over(server_->file("ca.pem"));
        copy(files_->server);
        for (const char* role : {"shy", "client"})
            psql.ask("CREATE ROLE " + std::string(role) + " LOGIN SUPERUSER PASSWORD 'canary-4711'");
        for (const auto& [name, value] : {std::pair{"ssl_cert_file", "shown.pem"},
                                          std::pair{"ssl_key_file", "shown.key"}, std::pair{"ssl_ca_file", "ca.pem"}})
            psql.ask("ALTER SYSTEM SET " + std::string(name) + " = '" + server_->file(value) + "'");
        psql.ask("ALTER SYSTEM SET ssl = on");
        psql.ask("SELECT pg_reload_conf()");
        ASSERT_TRUE(eventually([&] { return server_->open_console().ask("SHOW ssl") == "on"; }));
    }
    static void TearDownTestSuite() {
        server_.reset();
        files_.reset();
    }
    void TearDown() override { show(files_->server); }

    static void copy(const certificates::pair& which) {
        constexpr auto over = std::filesystem::copy_options::overwrite_existing;
        for (const auto& [from, to] : {std::pair{which.certificate, server_->file("shown.pem")},
                                       std::pair{which.key, server_->file("shown.key")}}) {
            std::filesystem::copy_file(from, to, over);
            server_->hand_over(to);
        }
    }
    // The server reads its files when it is told to; connections that come then see them.
    static void show(const certificates::pair& which) {
        copy(which);
        console psql = server_->open_console();
        const std::string before = psql.ask("SELECT pg_conf_load_time()");
        psql.ask("SELECT pg_reload_conf()");
        EXPECT_TRUE(eventually([&] { return psql.ask("SELECT pg_conf_load_time()") != before; }));
    }

    static std::string at(const std::string& host, const std::string& options, const std::string& user = "shy",
                          std::uint16_t port = 0) {
        return "postgres://" + user + ":canary-4711@" + host + ":" +
               std::to_string(port != 0 ? port : server_->port()) + "/postgres?strategy=" + GetParam() + options;
    }
    static std::string trusted() { return "&tls=on&ca=" + files_->authority; }
    static std::string showing(const certificates::pair& which) {
        return "&cert=" + which.certificate + "&key=" + which.key;
    }
    static void expect_denied(const std::string& address, const ::testing::Matcher<std::string>& what) {
        const auto begun = std::chrono::steady_clock::now();
        client locks{address, {.patience = 60s}};
        const attempt got = locks.try_acquire("n", {.wait = 60s});
        ASSERT_FALSE(got) << address;
        const std::string said = got.refusal().describe();
        EXPECT_EQ(got.reason(), errc::denied) << said;
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 60s) << said;
        EXPECT_THAT(said, AllOf(what, Not(HasSubstr("canary")), Not(HasSubstr("\n"))));
    }

    static inline std::unique_ptr<testing::server_group> home_ = std::make_unique<testing::server_group>();
    static inline std::unique_ptr<certificates> files_;
    static inline std::unique_ptr<server> server_;
};
INSTANTIATE_TEST_SUITE_P(each, postgres_tls, ::testing::Values("row", "advisory"),
                         [](const auto& about) { return about.param; });

TEST_P(postgres_tls, locks_are_taken_by_name_and_by_number) {
    client by_name{at("localhost", trusted())};
    client by_number{at("127.0.0.1", trusted())};
    const hold mine = by_name.acquire("n");
    EXPECT_FALSE(by_number.try_acquire("n"));
    EXPECT_TRUE(by_number.try_acquire("other"));
    std::error_code failed;
    for (const finding& one : by_name.check(failed)) EXPECT_THAT(one.what, Not(HasSubstr("encrypted"))) << one.what;
}

TEST_P(postgres_tls, a_certificate_for_another_name_is_refused) {
    show(files_->other_name);
    for (const std::string host : {"localhost", "127.0.0.1"})
        expect_denied(at(host, trusted()), AllOf(HasSubstr("another.example"), HasSubstr("does not match host name"),
                                                 HasSubstr(host), HasSubstr("option server_name")));
    client locks{at("localhost", trusted() + "&server_name=another.example")};
    EXPECT_TRUE(locks.try_acquire("n", {.wait = plenty})) << "where that is the name it should have";
}

TEST_P(postgres_tls, a_certificate_that_nobody_trusts_or_that_has_expired_is_refused) {
    expect_denied(at("localhost", "&tls=on&ca=" + files_->other_authority),
                  AllOf(HasSubstr("certificate verify failed"), HasSubstr("option ca")));
    expect_denied(at("localhost", "&tls=on"), HasSubstr("certificate verify failed"));
    show(files_->expired);
    expect_denied(at("localhost", trusted()), HasSubstr("certificate verify failed"));
}

TEST_P(postgres_tls, a_server_without_tls_is_told_nothing) {
    const server plain;
    testing::tcp_proxy between{plain.port()};
    expect_denied(at("127.0.0.1", trusted(), "shy", between.port()),
                  AllOf(HasSubstr("does not support SSL"), HasSubstr("leave out tls=on")));
    EXPECT_EQ(between.bytes_seen(testing::way::to_server), 8u * between.connected()) << "the question alone";
}

TEST_P(postgres_tls, a_server_may_demand_it) {
    expect_denied(at("127.0.0.1", "&tls=off"), AllOf(HasSubstr("no encryption"), HasSubstr("write tls=on")));
    EXPECT_TRUE(client{at("127.0.0.1", trusted())}.try_acquire("n", {.wait = plenty}));
}

TEST_P(postgres_tls, a_server_may_ask_for_a_certificate) {
    // The user that is named in the certificate.
    expect_denied(at("localhost", trusted(), "client"),
                  AllOf(HasSubstr("client certificate"), HasSubstr("options cert and key")));
    client locks{at("localhost", trusted() + showing(files_->client), "client")};
    EXPECT_TRUE(locks.try_acquire("n", {.wait = plenty}));
    expect_denied(at("localhost", trusted() + showing(files_->expired), "client"),
                  HasSubstr("does not accept our certificate"));
}

// A server that says nothing from the beginning, and one that falls silent in the handshake.
TEST_P(postgres_tls, a_handshake_that_does_not_end_is_given_up) {
    for (const bool at_once : {true, false}) {
        testing::tcp_proxy between{server_->port()};
        if (at_once)
            between.swallow(testing::way::to_client);
        else
            between.delay(testing::way::to_client, 200ms);
        const std::string address = at("127.0.0.1", trusted() + "&timeout=1s", "shy", between.port());
        auto heard = std::async(std::launch::async, [&] {
            client locks{address, {.patience = 2s}};
            return locks.try_acquire("n", {.wait = 60s});
        });
        ASSERT_TRUE(eventually([&] { return between.bytes_seen(testing::way::to_server) > (at_once ? 0u : 8u); }));
        between.swallow(testing::way::to_client);
        ASSERT_EQ(heard.wait_for(plenty), std::future_status::ready) << at_once;
        const attempt got = heard.get();
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::unreachable) << got.refusal().describe();
        EXPECT_THAT(got.refusal().describe(), HasSubstr("takes connections, but does not answer"));
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
