// TLS: who is let in, and what is said to those who are not.
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/servers/with_tls.hpp"

#include <mortise/client.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using servers::canary;
using servers::complaint;
using servers::complaint_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Repeating it would not help, and so it is not repeated.
void expect_refused_at_once(const complaint& heard) {
    EXPECT_EQ(heard.code, errc::denied) << heard.what;
    EXPECT_LT(heard.after, servers::long_patience / 2) << heard.what;
    EXPECT_TRUE(heard.readable()) << heard.what;
}

class redis_over_tls : public ::testing::Test {
protected:
    redis_over_tls() {
        on_.node().command({"acl", "setuser", "canary", "on", std::string(">") + canary, "~*", "&*", "+@all"});
    }

    std::string at(const std::string& host, const std::string& options) {
        return std::string("rediss://canary:") + canary + "@" + host + ":" + std::to_string(on_.node().port()) + "?" +
               options;
    }
    std::string trusted() { return "ca=" + on_.files().authority; }
    std::string url(const std::string& more = {}) { return at("localhost", trusted() + more); }

    servers::with_tls on_{"+@all ~* &*"};
};

TEST_F(redis_over_tls, locks_are_taken_by_name_and_by_number) {
    client by_name{url()};
    client by_number{at("127.0.0.1", trusted())};
    const hold mine = by_name.acquire("n");
    EXPECT_FALSE(by_number.try_acquire("n"));
    EXPECT_TRUE(by_number.try_acquire("other"));
}

// Requests and answers that are larger than a record of TLS, both ways at once.
TEST_F(redis_over_tls, many_threads_share_a_connection) {
    client locks{url()};
    const std::string label(200, 'x');
    std::vector<std::jthread> crowd;
    for (int t = 0; t < 8; ++t)
        crowd.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i) {
                const std::string name = "n" + std::to_string(t) + "-" + std::to_string(i);
                const hold each = locks.acquire(name, {.label = label});
                const hold common = locks.acquire("common", {.label = label});
            }
        });
    crowd.clear();
    std::vector<hold> held;
    for (int i = 0; i < 300; ++i) held.push_back(locks.acquire("kept" + std::to_string(i), {.label = label}));
    EXPECT_EQ(locks.list().size(), 300u);
}

TEST_F(redis_over_tls, waiters_are_woken) {
    client first{url()};
    client second{url()};
    hold mine = first.acquire("n");
    std::jthread later{[&] {
        std::this_thread::sleep_for(100ms);
        mine.release();
    }};
    EXPECT_TRUE(second.try_acquire("n", {.wait = 20s}));
}

TEST_F(redis_over_tls, a_certificate_for_another_name_is_refused) {
    on_.show(on_.files().other_name);
    complaint heard = complaint_of(url());
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, AllOf(HasSubstr("localhost:" + std::to_string(on_.node().port())),
                                  HasSubstr("the certificate is for 'another.example', not 'localhost'"),
                                  HasSubstr("option server_name")));
    heard = complaint_of(at("127.0.0.1", trusted()));
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, HasSubstr("not '127.0.0.1'"));

    client locks{url("&server_name=another.example")};
    EXPECT_TRUE(locks.try_acquire("n")) << "where that is the name it should have";
}

TEST_F(redis_over_tls, an_expired_certificate_is_refused) {
    on_.show(on_.files().expired);
    const complaint heard = complaint_of(url());
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, ::testing::ContainsRegex("expired on 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]; renew it"));
}

TEST_F(redis_over_tls, a_certificate_that_nobody_trusts_is_refused) {
    complaint heard = complaint_of(at("localhost", "ca=" + on_.files().other_authority));
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what,
                AllOf(HasSubstr("which is not in '" + on_.files().other_authority + "'"), HasSubstr("option ca")));
    heard = complaint_of(at("localhost", ""));
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, AllOf(HasSubstr("which this system does not trust"), HasSubstr("option ca")));
}

TEST_F(redis_over_tls, a_server_may_ask_for_a_certificate) {
    on_.demand_certificates();
    complaint heard = complaint_of(url());
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, HasSubstr("asks for a certificate of ours; give one with the options cert and key"));

    const auto showing = [&](const testing::certificates::pair& which) {
        return url("&cert=" + which.certificate + "&key=" + which.key);
    };
    heard = complaint_of(showing(on_.files().expired));
    expect_refused_at_once(heard);
    EXPECT_THAT(heard.what, HasSubstr("does not accept our certificate"));
    client locks{showing(on_.files().client)};
    EXPECT_TRUE(locks.try_acquire("n"));
}

TEST_F(redis_over_tls, files_that_cannot_be_used_are_refused_before_connecting) {
    const auto& client_pair = on_.files().client;
    const std::string locked = on_.files().authority + ".locked";
    {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_RSA_gen(2048), &EVP_PKEY_free};
        FILE* out = std::fopen(locked.c_str(), "w");
        ASSERT_NE(out, nullptr);
        PEM_write_PrivateKey(out, key.get(), EVP_aes_256_cbc(), nullptr, 0, nullptr, const_cast<char*>(canary));
        std::fclose(out);
    }
    const std::string open = locked + ".open";
    std::filesystem::copy_file(locked, open);
    using std::filesystem::perms;
    std::filesystem::permissions(locked, perms::owner_read);
    std::filesystem::permissions(open, perms::owner_read | perms::group_read);
    const std::vector<std::pair<std::string, std::string>> slips{
        {"ca=/no/such/file", "ca: cannot use '/no/such/file'"},
        {"ca=" + client_pair.key, "ca: cannot use '" + client_pair.key + "'"},
        {"cert=/no/such/file&key=" + client_pair.key, "cert: cannot use '/no/such/file'"},
        {"cert=" + client_pair.certificate + "&key=/no/such/file", "key: cannot use '/no/such/file'"},
        {"cert=" + client_pair.certificate + "&key=" + on_.files().server.key, "key: cannot use"},
        {"cert=" + client_pair.certificate + "&key=" + locked, "key: cannot use '" + locked + "'"},
        {"cert=" + client_pair.certificate + "&key=" + open, "key: others may read '" + open + "'; chmod 600 it"},
    };
    for (const auto& [options, says] : slips) {
        const complaint heard = complaint_of(at("localhost", options));
        EXPECT_EQ(heard.code, errc::bad_url) << options;
        EXPECT_THAT(heard.what, HasSubstr(says));
        EXPECT_TRUE(heard.readable()) << heard.what;
    }
}

TEST_F(redis_over_tls, a_plain_client_is_told_to_use_tls) {
    const complaint heard =
        complaint_of(std::string("redis://canary:") + canary + "@" + on_.node().address(), {.patience = 3s});
    EXPECT_TRUE(heard.code == errc::denied || heard.code == errc::unreachable) << heard.what;
    EXPECT_THAT(heard.what,
                AllOf(HasSubstr(on_.node().address()), HasSubstr("if it speaks TLS, write rediss:// or tls=1")));
    EXPECT_TRUE(heard.readable()) << heard.what;
}

// Redis does not answer what it cannot read, so nobody can tell it from a server that is stuck.
TEST(redis_without_tls, a_client_that_speaks_it_is_told_so) {
    servers::single plain;
    const complaint heard = complaint_of(
        std::string("rediss://canary:") + canary + "@" + plain.node().address() + "?timeout=300ms", {.patience = 2s});
    EXPECT_EQ(heard.code, errc::unreachable);
    EXPECT_TRUE(heard.readable()) << heard.what;
    EXPECT_THAT(heard.what,
                AllOf(HasSubstr(plain.node().address()), HasSubstr("if it does not speak TLS, write redis://")));
}

}  // namespace
}  // namespace mortise::stores::redis
