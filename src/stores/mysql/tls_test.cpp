// TLS: who is let in, and what is said to those who are not.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/mysql/servers/server.hpp"
#include "support/certificates.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::certificates;
using ::testing::HasSubstr;
using ::testing::Not;

class mysql_tls : public ::testing::TestWithParam<const char*> {
protected:
    static void SetUpTestSuite() {
        home_ = std::make_unique<testing::server_group>();
        files_ = std::make_unique<certificates>(home_->directory());
        copy(files_->server);
        server_ = std::make_unique<servers::server>(std::vector<std::string>{"--ssl-cert=" + *home_ / "shown.pem",
                                                                             "--ssl-key=" + *home_ / "shown.key",
                                                                             "--ssl-ca=" + files_->authority});
        server_->run(
            "CREATE USER shy@'127.0.0.1' IDENTIFIED BY 'canary-4711' REQUIRE SSL;"
            "GRANT ALL ON `t%`.* TO shy@'127.0.0.1';"
            "CREATE USER proven@'127.0.0.1' IDENTIFIED BY 'canary-4711' REQUIRE X509;"
            "GRANT ALL ON `t%`.* TO proven@'127.0.0.1'");
        const std::string fresh = server_->fresh_url();
        database_ = fresh.substr(fresh.rfind('/'));
    }
    static void TearDownTestSuite() {
        server_.reset();
        files_.reset();
        home_.reset();
    }
    void TearDown() override { show(files_->server); }

    static void copy(const certificates::pair& which) {
        constexpr auto over = std::filesystem::copy_options::overwrite_existing;
        std::filesystem::copy_file(which.certificate, *home_ / "shown.pem", over);
        std::filesystem::copy_file(which.key, *home_ / "shown.key", over);
    }
    static void show(const certificates::pair& which) {
        copy(which);
        server_->run("FLUSH SSL");
    }

    static std::string at(const std::string& host, const std::string& options, const std::string& user = "shy",
                          std::uint16_t port = 0) {
        return "mysql://" + user + ":canary-4711@" + host + ":" + std::to_string(port != 0 ? port : server_->port()) +
               database_ + "?strategy=" + GetParam() + options;
    }
    static std::string trusted() { return "&tls=on&ca=" + files_->authority; }
    static std::string showing(const certificates::pair& which) {
        return "&cert=" + which.certificate + "&key=" + which.key;
    }

    struct complaint {
        std::error_code code{};
        std::string what = "none: the lock was taken";
    };
    // Repeating does not help, and so it is not repeated until patience ends.
    static complaint complaint_of(const std::string& address, std::chrono::seconds patience = 60s) {
        const auto begun = std::chrono::steady_clock::now();
        complaint heard;
        try {
            client locks{address, {.patience = patience}};
            static_cast<void>(locks.acquire("n"));
        } catch (const error& e) {
            heard = {e.code(), e.what()};
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begun, patience) << heard.what;
        EXPECT_THAT(heard.what, AllOf(Not(HasSubstr("canary")), Not(HasSubstr("\n"))));
        return heard;
    }
    static void expect_denied(const std::string& address, const ::testing::Matcher<std::string>& what) {
        const complaint heard = complaint_of(address);
        EXPECT_EQ(heard.code, errc::denied) << heard.what;
        EXPECT_THAT(heard.what, what);
    }

    static inline std::unique_ptr<testing::server_group> home_;
    static inline std::unique_ptr<certificates> files_;
    static inline std::unique_ptr<servers::server> server_;
    static inline std::string database_;
};
INSTANTIATE_TEST_SUITE_P(each, mysql_tls, ::testing::Values("row", "get_lock"),
                         [](const auto& about) { return about.param; });

TEST_P(mysql_tls, locks_are_taken_by_name_and_by_number) {
    client by_name{at("localhost", trusted())};
    client by_number{at("127.0.0.1", trusted())};
    std::optional<hold> mine = by_name.acquire("n");
    EXPECT_FALSE(by_number.try_acquire("n"));
    auto next = std::async(std::launch::async, [&] { return by_number.try_acquire("n", {.wait = 30s}); });
    std::this_thread::sleep_for(150ms);
    mine.reset();
    EXPECT_TRUE(next.get());
}

TEST_P(mysql_tls, the_password_may_be_in_a_file) {
    const std::string secret = *home_ / "secret";
    std::ofstream{secret} << "canary-4711\n";
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
    client locks{"mysql://shy@127.0.0.1:" + std::to_string(server_->port()) + database_ + "?strategy=" + GetParam() +
                 trusted() + "&password_file=" + secret};
    EXPECT_TRUE(locks.try_acquire("n"));
    std::filesystem::remove(secret);
}

TEST_P(mysql_tls, a_certificate_for_another_name_is_refused) {
    show(files_->other_name);
    const auto not_for = [](const std::string& host) {
        return AllOf(HasSubstr("the certificate is for 'another.example', not '" + host + "'"),
                     HasSubstr("option server_name"));
    };
    expect_denied(at("localhost", trusted()), not_for("localhost"));
    expect_denied(at("127.0.0.1", trusted()), not_for("127.0.0.1"));
    client locks{at("localhost", trusted() + "&server_name=another.example")};
    EXPECT_TRUE(locks.try_acquire("n", {.wait = 30s})) << "where that is the name it should have";
}

TEST_P(mysql_tls, a_certificate_that_nobody_trusts_or_that_has_expired_is_refused) {
    expect_denied(at("localhost", "&tls=on&ca=" + files_->other_authority),
                  AllOf(HasSubstr("which is not in '" + files_->other_authority + "'"), HasSubstr("option ca")));
    expect_denied(at("localhost", "&tls=on"), HasSubstr("which this system does not trust"));
    show(files_->expired);
    expect_denied(at("localhost", trusted()), HasSubstr("expired on"));
}

// Not even who we are, let alone the password.
TEST_P(mysql_tls, a_server_without_tls_is_told_nothing) {
    servers::server plain{{"--skip-ssl"}};
    testing::tcp_proxy between{plain.port()};
    expect_denied(at("127.0.0.1", trusted(), "shy", between.port()), HasSubstr("does not speak TLS; leave out tls=on"));
    EXPECT_GT(between.connected(), 0u);
    EXPECT_EQ(between.bytes_seen(testing::way::to_server), 0u);
}

TEST_P(mysql_tls, a_server_or_a_user_may_demand_it) {
    expect_denied(at("127.0.0.1", ""), HasSubstr("demands TLS (REQUIRE SSL), add tls=on"));
    server_->run("SET GLOBAL require_secure_transport = 1");
    const std::string open =
        server_->url_of(database_.substr(1)) + "?strategy=" + GetParam();  // a user who does not need it
    expect_denied(open, HasSubstr("if the server or the user demands TLS (REQUIRE SSL), add tls=on"));
    EXPECT_TRUE(client{at("127.0.0.1", trusted())}.try_acquire("n", {.wait = 30s}));
    server_->run("SET GLOBAL require_secure_transport = 0");
}

TEST_P(mysql_tls, a_user_may_have_to_show_a_certificate) {
    expect_denied(at("localhost", trusted(), "proven"), HasSubstr("(REQUIRE X509), give one: options cert and key"));
    client locks{at("localhost", trusted() + showing(files_->client), "proven")};
    EXPECT_TRUE(locks.try_acquire("n", {.wait = 30s}));
    // Whether its reason arrives before it closes is a matter of luck.
    const attempt got =
        client{at("localhost", trusted() + showing(files_->expired), "proven"), {.patience = 2s}}.try_acquire(
            "n", {.wait = 10s});
    ASSERT_FALSE(got);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("accept our certificate"));
}

// libmariadb blocks in the handshake; it must not do so for longer than the address allows. Nor does a server keep us that says
// nothing from the beginning.
TEST_P(mysql_tls, a_handshake_that_does_not_end_is_given_up) {
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
        ASSERT_TRUE(testing::eventually(
            [&] { return at_once ? between.connected() > 0 : between.bytes_seen(testing::way::to_server) > 0; }));
        between.swallow(testing::way::to_client);
        ASSERT_EQ(heard.wait_for(30s), std::future_status::ready) << at_once;
        const attempt got = heard.get();
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::unreachable) << got.refusal().describe();
        if (at_once) {
            EXPECT_THAT(got.refusal().describe(), HasSubstr("takes connections, but does not answer"));
        }
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
