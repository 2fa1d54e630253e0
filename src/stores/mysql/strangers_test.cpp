// The address leads to a server of another kind.
#include "stores/mysql/servers/server.hpp"
#include "stores/postgres/servers/server.hpp"
#include "stores/redis/servers/scripted.hpp"
#include "stores/redis/servers/single.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <string>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class mysql_strangers : public ::testing::TestWithParam<const char*> {
protected:
    static attempt asked(const std::string& where, std::chrono::seconds patience) {
        const std::string url = "mysql://ann:secret@" + where + "/d?timeout=1s&strategy=" + GetParam();
        return client{url, {.patience = patience}}.try_acquire("n", {.wait = 120s});
    }
    // Without waiting until it becomes one of ours.
    static void expect_named(const std::string& where, const std::string& what) {
        const auto began = std::chrono::steady_clock::now();
        const attempt got = asked(where, 60s);
        EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::unsupported) << got.refusal().describe();
        EXPECT_THAT(got.refusal().describe(), HasSubstr(where + " " + what + "; is the port right?"));
    }
};
INSTANTIATE_TEST_SUITE_P(each, mysql_strangers, ::testing::Values("row", "get_lock"),
                         [](const auto& about) { return about.param; });

TEST_P(mysql_strangers, that_speak_first_are_named) {
    const redis::servers::scripted shell{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"};
    expect_named(shell.address(), "is an SSH server, not MySQL");
    const redis::servers::scripted odd{"what is it?\r\n"};
    expect_named(odd.address(), "does not speak as MySQL does");
}

TEST_P(mysql_strangers, that_wait_to_be_spoken_to_are_named) {
    redis::servers::single redis;
    expect_named(redis.node().address(), "is a Redis server, not MySQL");
}

// It closes the connection, as a server does that is being restarted, and is asked in its own words by the next attempt.
TEST_P(mysql_strangers, that_close_the_connection_are_named) {
    const postgres::servers::server postgres;
    expect_named(postgres.address(), "is a PostgreSQL server, not MySQL");
}

// What is said to it is not said to the next one.
TEST_P(mysql_strangers, that_close_the_connection_keep_nobody_from_the_server_beside_them) {
    const postgres::servers::server postgres;
    servers::server mariadb;
    std::string url = mariadb.fresh_url();
    url.insert(url.find('@') + 1, postgres.address() + ",");
    client ours{url + "?timeout=1s&strategy=" + GetParam(), {.patience = 60s}};
    const attempt got = ours.try_acquire("n", {.wait = 20s});
    EXPECT_TRUE(got) << got.refusal().describe();
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
