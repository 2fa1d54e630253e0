// What addresses mean, and which are refused.
#include "stores/etcd/settings.hpp"

#include <mortise/error.hpp>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using ::testing::ElementsAre;
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

TEST(etcd_addresses, name_the_members) {
    const settings s = read_address("etcd://a,b:1234,[::1],[::1]:99?prefix=shop&timeout=500ms");
    EXPECT_THAT(s.endpoints, ElementsAre("a:2379", "b:1234", "[::1]:2379", "[::1]:99"));
    EXPECT_EQ(s.prefix, "shop");
    EXPECT_EQ(s.timeout, std::chrono::milliseconds{500});
    EXPECT_FALSE(s.tls.on);
    EXPECT_EQ(s.protocol, settings::layout::native);
    EXPECT_TRUE(read_address("etcds://a").tls.on);
    EXPECT_EQ(read_address("etcd://a?protocol=concurrency").protocol, settings::layout::concurrency);
}

TEST(etcd_addresses, that_cannot_be_meant_are_refused_with_a_remedy) {
    EXPECT_THAT(complaint_about("etcd:name"), HasSubstr("host is missing"));
    EXPECT_THAT(complaint_about("etcd://a/path"), HasSubstr("option prefix"));
    EXPECT_THAT(complaint_about("etcd://a?color=red"), HasSubstr("there are ca, cert, key"));
    EXPECT_THAT(complaint_about("etcd://a?prefix=x/"), HasSubstr("prefix must be"));
    EXPECT_THAT(complaint_about("etcd://a?timeout=soon"), HasSubstr("duration"));
    EXPECT_THAT(complaint_about("etcd://a?protocol=redisson"), HasSubstr("native or concurrency"));
    EXPECT_THAT(complaint_about("etcd://a?protocol=concurrency&prefix=shop"), HasSubstr("names are keys there"));
    EXPECT_THAT(complaint_about("etcd://a?server_name=b"), HasSubstr("write etcds://"));
    EXPECT_THAT(complaint_about("etcds://a?ca=/nowhere"), HasSubstr("cannot use '/nowhere'"));
    EXPECT_THAT(complaint_about("etcd://ann@a"), HasSubstr("needs a password"));
}

TEST(etcd_addresses, do_not_show_their_secrets) {
    const std::string reply = complaint_about("etcd://ann:open-sesame@a?color=red");
    EXPECT_THAT(reply, HasSubstr("ann"));
    EXPECT_THAT(reply, Not(HasSubstr("open-sesame")));
    EXPECT_THAT(read_address("etcd://ann:open-sesame@a").shown(), Not(HasSubstr("open-sesame")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
