#include "stores/redlock/settings.hpp"

#include <mortise/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

settings of(std::string_view text) {
    return settings::of(base::url::parse(text));
}

std::string complaint(std::string_view text) {
    try {
        of(text);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_url) << text;
        return e.what();
    }
    ADD_FAILURE() << text << " was accepted";
    return {};
}

TEST(redlock_settings, every_host_is_a_node_with_the_options_of_redis) {
    const settings s = of("redlock://ann:p%40ss@a,b:7000,[::1]:7001/2?key_prefix=l%26k:&timeout=1s&settle=30s");
    ASSERT_EQ(s.nodes.size(), 3u);
    EXPECT_EQ(s.nodes[0].host, "a:6379");
    EXPECT_EQ(s.nodes[1].host, "b:7000");
    EXPECT_EQ(s.nodes[0].address, "redis://ann:p%40ss@a/2?protocol=setnx&key_prefix=l%26k%3A&timeout=1s");
    const base::url third = base::url::parse(s.nodes[2].address);
    EXPECT_EQ(third.hosts, std::vector<std::string>{"[::1]:7001"});
    EXPECT_EQ(third.password, "p@ss");
    EXPECT_EQ(third.query.at("key_prefix"), "l&k:");
    EXPECT_EQ(s.quorum.settle, 30s);
    EXPECT_EQ(s.quorum.node_timeout, 500ms);
}

TEST(redlock_settings, of_the_quorum) {
    const settings s = of("redlock://a,b,c?node_timeout=50ms&min_validity=9s");
    EXPECT_EQ(s.quorum.node_timeout, 50ms);
    EXPECT_EQ(s.quorum.min_validity, 9s);
    EXPECT_EQ(s.quorum.settle, 0s);
}

TEST(redlock_settings, with_tokens_the_nodes_speak_our_own_protocol) {
    const settings s = of("redlock://a,b,c?fenced=true&prefix=team");
    EXPECT_TRUE(s.quorum.fenced);
    EXPECT_EQ(s.nodes[0].address, "redis://a?protocol=native&prefix=team");
    EXPECT_FALSE(of("redlock://a,b,c?fenced=false&key_prefix=lock:").quorum.fenced);
    EXPECT_THAT(complaint("redlock://a,b,c?fenced=true&key_prefix=lock:"), HasSubstr("prefix"));
    EXPECT_THAT(complaint("redlock://a,b,c?prefix=team"), HasSubstr("fenced=true"));
    EXPECT_THAT(complaint("redlock://a,b,c?fenced=yes"), HasSubstr("true or false"));
}

TEST(redlock_settings, what_cannot_work_is_refused) {
    EXPECT_THAT(complaint("redlock://a"), HasSubstr("three hosts"));
    EXPECT_THAT(complaint("redlock://a,b"), HasSubstr("three hosts"));
    EXPECT_THAT(complaint("redlock://a,b,a:6379"), HasSubstr("twice"));
    EXPECT_THAT(complaint("redlock://redis-1,b,Redis-1"), HasSubstr("twice"));
    EXPECT_THAT(complaint("redlock://a,b,c?settle=25h"), HasSubstr("settle"));
    EXPECT_THAT(complaint("redlock://a,b,c?wait=1"), HasSubstr("wait"));
    EXPECT_THAT(complaint("redlock://a,b,c?protocol=native"), HasSubstr("protocol"));
    EXPECT_THAT(complaint("redlock://a,b,c?settle=soon"), HasSubstr("settle"));
    EXPECT_THAT(complaint("redlock://ann:hush@a,b"), Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::redlock
