// What addresses mean, and which are refused.
#include "stores/mysql/settings.hpp"

#include <mortise/error.hpp>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

settings read_address(std::string_view text) {
    return settings::of(base::url::parse(text));
}

std::string complaint_about(std::string_view text) {
    try {
        read_address(text);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_url);
        return e.what();
    }
    return "none";
}

TEST(mysql_addresses, name_the_servers_and_the_strategy) {
    const settings s = read_address(
        "mysql://app:p%40ss@a,b:1234,[::1]/shop?strategy=get_lock&session=10s&connections=7&timeout=500ms");
    ASSERT_EQ(s.servers.size(), 3u);
    EXPECT_EQ(s.servers[0], (net::endpoint{"a", 3306}));
    EXPECT_EQ(s.servers[1], (net::endpoint{"b", 1234}));
    EXPECT_EQ(s.servers[2], (net::endpoint{"::1", 3306}));
    EXPECT_EQ(s.user, "app");
    EXPECT_EQ(s.password, "p@ss");
    EXPECT_EQ(s.database, "shop");
    EXPECT_EQ(s.by, strategy::get_lock);
    EXPECT_EQ(s.session, std::chrono::seconds{10});
    EXPECT_EQ(s.connections, 7u);
    EXPECT_EQ(s.timeout, std::chrono::milliseconds{500});
    EXPECT_FALSE(s.tls.on);
    EXPECT_THAT(s.shown(), Not(HasSubstr("p@ss")));
    EXPECT_EQ(read_address("mysql://u@h/d").by, strategy::row);
    EXPECT_EQ(read_address("mysql://u@h/d").wait_connections, 1u);
    EXPECT_EQ(read_address("mysql://u@h/d?wait_connections=0").wait_connections, 0u);
    EXPECT_EQ(read_address("mysql://u@h/d?strategy=get_lock&connections=9").connections, 9u);
}

TEST(mysql_addresses, that_cannot_be_meant_are_refused_with_a_remedy) {
    EXPECT_THAT(complaint_about("mysql:d"), HasSubstr("host is missing"));
    EXPECT_THAT(complaint_about("mysql://h/d"), HasSubstr("user is missing"));
    EXPECT_THAT(complaint_about("mysql://u@h"), HasSubstr("database is missing"));
    EXPECT_THAT(complaint_about("mysql://u@h/"), HasSubstr("database is missing"));
    EXPECT_THAT(complaint_about("mysql://u@h/a/b"), HasSubstr("name of a database"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?strategy=hope"), HasSubstr("row, for_update or get_lock"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?strategy=get_lock&session=2500ms"), HasSubstr("whole seconds"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?session=30s"), HasSubstr("for_update and strategy=get_lock"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?connections=2"), HasSubstr("for_update and strategy=get_lock"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?strategy=get_lock&connections=0"), HasSubstr("from 1 to"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?wait_connections=2"), HasSubstr("from 0 to 1"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?strategy=get_lock&wait_connections=1"), HasSubstr("strategy=row"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?tls=perhaps"), HasSubstr("on or off"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?ca=/x"), HasSubstr("tls=on"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?tls=on&cert=/x"), HasSubstr("go together"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?tls=on&ca=/no/such/file"), HasSubstr("ca: cannot use"));
    EXPECT_THAT(complaint_about("mysql://u@h/d?colour=red"), HasSubstr("there is no option 'colour'"));
    EXPECT_THAT(complaint_about("mysql://u:s3cret@h/d?colour=red"), Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
