// What addresses mean, and which are refused.
#include "stores/postgres/settings.hpp"

#include <mortise/error.hpp>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::postgres {
namespace {

settings of(const std::string& address) {
    return settings::of(base::url::parse(address));
}

std::string complaint_about(const std::string& address) {
    try {
        of(address);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_url);
        return e.what();
    }
    ADD_FAILURE() << address << " was accepted";
    return {};
}

// The environment of one test, as another program would find it.
class postgres_settings : public ::testing::Test {
protected:
    postgres_settings() {
        for (const char* variable : {"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD"}) ::unsetenv(variable);
    }
};

TEST_F(postgres_settings, an_address_says_where_and_as_whom) {
    const settings s =
        of("postgres://shop:pw@a:5433,b/stock?strategy=advisory&schema=locks&session=5s&wait_connections=2");
    ASSERT_EQ(s.servers.size(), 2u);
    EXPECT_EQ(s.servers[0].shown(), "a:5433");
    EXPECT_EQ(s.servers[1].shown(), "b:5432");
    EXPECT_EQ(s.user, "shop");
    EXPECT_EQ(s.password, "pw");
    EXPECT_EQ(s.database, "stock");
    EXPECT_EQ(s.schema, "locks");
    EXPECT_EQ(s.kind, settings::strategy::advisory);
    EXPECT_EQ(s.session, std::chrono::seconds{5});
    EXPECT_EQ(s.wait_connections, 2u);
    EXPECT_EQ(s.shown(), "postgres://a:5433,b:5432/stock");
    EXPECT_EQ(of("postgresql://u@a").database, "u") << "as libpq has it";
}

TEST_F(postgres_settings, what_is_left_out_comes_from_the_environment) {
    ::setenv("PGHOST", "db.example", 1);
    ::setenv("PGPORT", "6000", 1);
    ::setenv("PGUSER", "from_env", 1);
    ::setenv("PGDATABASE", "orders", 1);
    const settings s = of("postgres:?strategy=advisory");
    EXPECT_EQ(s.servers.at(0).shown(), "db.example:6000");
    EXPECT_EQ(s.user, "from_env");
    EXPECT_EQ(s.database, "orders");
    EXPECT_EQ(of("postgres:shop").database, "shop");
    EXPECT_EQ(of("postgres://me@h/shop").user, "me") << "the address goes first";
}

TEST_F(postgres_settings, mistakes_are_named_and_no_password_is_shown) {
    EXPECT_NE(complaint_about("postgres://u:secret@h/a/b").find("name of a database"), std::string::npos);
    for (const std::string bad :
         {"strategy=table", "schema=", "schema=pg_mine", "session=1ms", "session=5s", "wait_connections=3", "tls=maybe",
          "ca=/nowhere", "tls=on&ca=/nowhere", "tls=on&cert=/a", "pooler=transaction", "colour=blue"}) {
        const std::string said = complaint_about("postgres://u:secret@h/db?" + bad);
        EXPECT_EQ(said.find("secret"), std::string::npos) << said;
        EXPECT_NE(said.find(bad.substr(0, bad.find('='))), std::string::npos) << said;
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
