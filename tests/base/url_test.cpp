// Addresses of stores: what is read, what is refused, and that no message tells a secret.
#include "base/url.hpp"

#include <mortise/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string refusal_of(const std::string& address) {
    try {
        url::parse(address);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_url);
        return e.what();
    }
    return {};
}

TEST(url, without_an_authority_the_rest_is_the_path) {
    EXPECT_EQ(url::parse("memory:").scheme, "memory");
    EXPECT_EQ(url::parse("memory:").path, "");
    EXPECT_EQ(url::parse("memory:shop").path, "shop");
    EXPECT_EQ(url::parse("host:/run/locks").path, "/run/locks");
    EXPECT_EQ(url::parse("host:C:/x").path, "C:/x");
    EXPECT_THAT(url::parse("host:/run/locks").hosts, IsEmpty());
}

TEST(url, reads_every_part) {
    const url u = url::parse("redis+tls://ann:p%40ss%3Aword@a.example:7000,b,[::1]:7001/0/x%20y?lease=5&label=%C3%A4");
    EXPECT_EQ(u.scheme, "redis+tls");
    EXPECT_EQ(u.user, "ann");
    EXPECT_EQ(u.password, "p@ss:word");
    EXPECT_THAT(u.hosts, ElementsAre("a.example:7000", "b", "[::1]:7001"));
    EXPECT_EQ(u.path, "/0/x y");
    EXPECT_EQ(u.query.size(), 2u);
    EXPECT_EQ(u.query.at("lease"), "5");
    EXPECT_EQ(u.query.at("label"), "\u00e4");
}

TEST(url, several_servers_stand_behind_a_scheme_with_a_plus) {
    const url sentinels = url::parse("redis+sentinel://h:26379,127.0.0.1:26380/main?prefix=mortise:t1");
    EXPECT_EQ(sentinels.scheme, "redis+sentinel");
    EXPECT_THAT(sentinels.hosts, ElementsAre("h:26379", "127.0.0.1:26380"));
    EXPECT_EQ(sentinels.path, "/main");
    EXPECT_EQ(sentinels.query.at("prefix"), "mortise:t1");
    EXPECT_EQ(sentinels.masked(), "redis+sentinel://h:26379,127.0.0.1:26380/main?prefix=mortise:t1");

    const url cluster = url::parse("rediss+cluster://ann:s3cret@a,b:7001?prefix=x&ca=/etc/ca.pem");
    EXPECT_EQ(cluster.scheme, "rediss+cluster");
    EXPECT_THAT(cluster.hosts, ElementsAre("a", "b:7001"));
    EXPECT_EQ(cluster.query.at("ca"), "/etc/ca.pem");
    EXPECT_EQ(cluster.masked(), "rediss+cluster://ann:***@a,b:7001?prefix=x&ca=/etc/ca.pem");
}

TEST(url, parts_may_be_missing_or_empty) {
    EXPECT_EQ(url::parse("etcd://h").path, "");
    EXPECT_EQ(url::parse("etcd://h/").path, "/");
    EXPECT_EQ(url::parse("etcd://u@h").user, "u");
    EXPECT_EQ(url::parse("etcd://u@h").password, "");
    EXPECT_EQ(url::parse("etcd://:pw@h").user, "");
    EXPECT_EQ(url::parse("etcd://:pw@h").password, "pw");
    EXPECT_EQ(url::parse("etcd://h?").query.size(), 0u);
    EXPECT_EQ(url::parse("etcd://h?a=").query.at("a"), "");
    EXPECT_EQ(url::parse("etcd://h?a=b=c").query.at("a"), "b=c");
    EXPECT_EQ(url::parse("etcd://[2001:db8::1]").hosts.at(0), "[2001:db8::1]");
    EXPECT_EQ(url::parse("etcd://h:65535").hosts.at(0), "h:65535");
}

TEST(url, refuses_what_it_cannot_read_and_says_what_is_expected) {
    for (const std::string& address : std::vector<std::string>{"",
                                                               "memory",
                                                               ":",
                                                               ":x",
                                                               "//h",
                                                               "Memory:",
                                                               "1memory:",
                                                               "mem ory:",
                                                               "mem_ory:",
                                                               "m\xc3\xa9moire:",
                                                               "redis://",
                                                               "redis:///0",
                                                               "redis://u:p@",
                                                               "redis://h:",
                                                               "redis://h:0",
                                                               "redis://h:65536",
                                                               "redis://h:123456",
                                                               "redis://h:12a",
                                                               "redis://h:-1",
                                                               "redis://h:+1",
                                                               "redis://h: 1",
                                                               "redis://a,,b",
                                                               "redis://a,",
                                                               "redis://,a",
                                                               "redis://a b",
                                                               "redis://[::1",
                                                               "redis://[]:1",
                                                               "redis://[::1]x",
                                                               "redis://::1",
                                                               "redis://h?x",
                                                               "redis://h?=x",
                                                               "redis://h?a=1&a=2",
                                                               "redis://h?a=1&&b=2",
                                                               "redis://h/%",
                                                               "redis://h/%4",
                                                               "redis://h/%4g",
                                                               "redis://h/%-1",
                                                               "redis://h?a=%zz",
                                                               "redis://%zz@h",
                                                               "memory:%2"}) {
        const std::string said = refusal_of(address);
        EXPECT_THAT(said, HasSubstr("store address")) << address;
        EXPECT_THAT(said, HasSubstr("SCHEME")) << address;
    }
}

TEST(url, refuses_control_characters_and_shows_them_harmless) {
    for (const std::string& address :
         {std::string("memory:a\nb"), std::string("memory:\0", 8), std::string("\x1b[31m:"),
          std::string("redis://h\r\n"), std::string("memory:\x7f")}) {
        const std::string said = refusal_of(address);
        EXPECT_THAT(said, HasSubstr("control characters"));
        for (const char c : said) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << said;
    }
}

TEST(url, refuses_what_is_too_long_without_repeating_it) {
    EXPECT_NO_THROW(url::parse("memory:" + std::string(4096 - 7, 'x')));
    for (const std::size_t size : {4097u - 7u, 1u << 20}) {
        const std::string said = refusal_of("memory:" + std::string(size, 'x'));
        EXPECT_THAT(said, HasSubstr("4096"));
        EXPECT_LT(said.size(), 300u);
    }
    EXPECT_LT(refusal_of("Memory:" + std::string(4000, 'x')).size(), 500u);
}

TEST(url, shows_itself_without_its_secrets) {
    const auto shown = [](const char* address) { return url::parse(address).masked(); };
    EXPECT_EQ(shown("memory:shop"), "memory:shop");
    EXPECT_EQ(shown("redis://h:6379/0?lease=5"), "redis://h:6379/0?lease=5");
    EXPECT_EQ(shown("redis://ann@h:1"), "redis://ann@h:1");
    EXPECT_EQ(shown("redis://ann:s3cret@h:1,i:2/0"), "redis://ann:***@h:1,i:2/0");
    EXPECT_EQ(shown("redis://:s3cret@h"), "redis://:***@h");
    EXPECT_EQ(shown("redis://ann:s3%40cret@h?a=b"), "redis://ann:***@h?a=b");
    EXPECT_EQ(shown("redis://h?password=s3cret&a=b"), "redis://h?password=***&a=b");
    EXPECT_EQ(shown("redis://h?a=b&auth_token=s3cret"), "redis://h?a=b&auth_token=***");
    EXPECT_EQ(shown("host:/run/locks"), "host:/run/locks");
}

TEST(url, a_bad_port_is_called_a_port) {
    for (const char* port : {"0", "65536", "99999", "637900"}) {
        const std::string said = refusal_of("redis://db:" + std::string(port) + "/0");
        EXPECT_THAT(said, HasSubstr("'redis://db:" + std::string(port) + "/0'"));
        EXPECT_THAT(said, HasSubstr("the port " + std::string(port) + " is out of range; use 1 to 65535"));
    }
    for (const char* address : {"redis://db:", "redis://db:6379x", "redis://ann:s3cret@db:port", "redis://[::1]:x"})
        EXPECT_THAT(refusal_of(address), HasSubstr("the port of a host must be a number")) << address;
    EXPECT_THAT(refusal_of("redis://ann:12345678"), Not(HasSubstr("12345678"))) << "may be a password";
}

TEST(url, never_shows_a_secret_however_it_is_misspelt) {
    for (const char* address : {"redis://ann:s3cret@",
                                "redis://ann:s3cret",
                                "redis://ann:s3cret/0",
                                "redis://h:1,ann:s3cret?a=b",
                                "redis://ann:s3cret@h:x",
                                "redis://ann:s3cret@h:99999",
                                "redis://ann:s3cret%@h",
                                "redis://ann:s3cret@a,,b",
                                "redis://ann:pa/s3cret@h:x",
                                "redis://ann:s3cret/pa@h:x",
                                "redis://ann:pa?s3cret@h",
                                "redis://ann:s3cret?pa@h",
                                "redis://ann:pa@s3cret@h h",
                                "redis://ann:pa#s3cret@h:x",
                                "Redis://ann:s3cret@h",
                                "redis:/ann:s3cret@h%",
                                "redis:ann:s3cret@h%",
                                "//ann:s3cret@h",
                                "ann:s3cret@h%",
                                "redis://ann?pa:s3cret@h",
                                "redis://h?password=s3cret&x",
                                "redis://h?Password=s3cret&x",
                                "redis://h?PASSWD=s3cret&x",
                                "redis://h?pwd=s3cret&x",
                                "redis://h?%70assword=s3cret&x",
                                "redis://h?password=pa@s3cret&x",
                                "redis://h:1?password=pa@s3cret&x",
                                "redis://h:1?password=s3cret@pa&x",
                                "redis://h?client_secret=s3cret&x",
                                "redis://h?password=s3cret&password=s3cret",
                                "redis://ann:s3cret@h?password=s3cret&x",
                                "redis://ann:s3cret@h\n",
                                "redis://ann:s3cret@h/%"}) {
        const std::string said = refusal_of(address);
        EXPECT_THAT(said, Not(IsEmpty())) << "was read: " << address;
        EXPECT_THAT(said, Not(HasSubstr("s3cret"))) << address;
    }
}

// Whatever bytes come: an answer or a refusal, nothing else.
TEST(url, any_bytes_are_read_or_refused) {
    constexpr char letters[] = "redis:/@?&=%,[]* .#a0\xff\0\n";
    const std::string alphabet(letters, sizeof letters - 1);
    std::uint64_t dice = 1;
    for (int i = 0; i < 50'000; ++i) {
        std::string address = i % 3 == 0 ? "redis://" : i % 3 == 1 ? "r:" : "";
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        for (std::uint64_t bits = dice >> 8; bits > 15; bits /= 27)
            address += alphabet[static_cast<std::size_t>(bits % alphabet.size())];
        try {
            const url u = url::parse(address);
            EXPECT_FALSE(u.scheme.empty());
            EXPECT_TRUE(u.password.empty() || u.masked() != address) << address;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::bad_url) << address;
        }
    }
}

}  // namespace
}  // namespace mortise::base
