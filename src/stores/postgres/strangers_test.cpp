// The address leads to a server of another kind.
#include "stores/mysql/servers/server.hpp"
#include "stores/redis/servers/scripted.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <string>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class postgres_strangers : public ::testing::TestWithParam<const char*> {
protected:
    // Without waiting until it becomes one of ours.
    static void expect_named(const std::string& where, const std::string& what) {
        const auto began = std::chrono::steady_clock::now();
        const std::string url = "postgres://ann:secret@" + where + "/d?strategy=" + GetParam();
        const attempt got = client{url, {.patience = 60s}}.try_acquire("n", {.wait = 120s});
        EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::unsupported) << got.refusal().describe();
        EXPECT_THAT(got.refusal().describe(), HasSubstr(where + " " + what + "; is the port right?"));
    }
};
INSTANTIATE_TEST_SUITE_P(each, postgres_strangers, ::testing::Values("row", "advisory"),
                         [](const auto& about) { return about.param; });

TEST_P(postgres_strangers, are_named) {
    const mysql::servers::server mariadb;
    expect_named(mariadb.address(), "is a MySQL or MariaDB server, not PostgreSQL");
    const redis::servers::scripted web{"HTTP/1.1 400 Bad Request\r\n\r\n"};
    expect_named(web.address(), "is a web server, not PostgreSQL");
    const redis::servers::scripted odd{"what is it?\r\n"};
    expect_named(odd.address(), "does not speak as PostgreSQL does");
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
