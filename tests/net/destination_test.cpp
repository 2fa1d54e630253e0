// What people are told about a server that cannot be reached.
#include "net/destination.hpp"

#include <gtest/gtest.h>

namespace mortise::net {
namespace {

destination server() {
    destination to{.where = {"db", 6379}};
    to.called = "db:6379";
    to.tls.if_needed = "write rediss://";
    to.tls.if_silent = "write redis://";
    return to;
}

TEST(destination, a_stream_that_ends_before_anything_was_said_hints_at_tls) {
    const trouble why = server().end_of_stream({.is = transport::status::closed}, false);
    EXPECT_EQ(why.code, errc::unreachable);
    EXPECT_EQ(why.what, "db:6379 closed the connection before it said anything; if it speaks TLS, write rediss://");
    EXPECT_EQ(why.helps, trouble::remedy::told);
    EXPECT_TRUE(why.unmet);
}

TEST(destination, a_server_that_has_answered_just_closed_the_connection) {
    const trouble why = server().end_of_stream({.is = transport::status::closed}, true);
    EXPECT_EQ(why.what, "db:6379 closed the connection");
    EXPECT_FALSE(why.unmet);
    EXPECT_FALSE(why.hopeless);
}

TEST(destination, a_bad_certificate_is_hopeless) {
    const trouble why =
        server().end_of_stream({.is = transport::status::failed, .why = "expired", .hopeless = true}, false);
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_EQ(why.what, "expired");
    EXPECT_TRUE(why.hopeless);
}

TEST(destination, silence_hints_at_tls_only_while_it_is_established) {
    destination to = server();
    EXPECT_EQ(to.silence(true).what, "has not answered for 2 s");
    to.tls.on = true;
    EXPECT_EQ(to.silence(false).what, "has not answered for 2 s");
    EXPECT_EQ(to.silence(true).what, "has not answered for 2 s; if it does not speak TLS, write redis://");
}

TEST(destination, one_that_is_not_known_yet_says_so) {
    destination to = server();
    to.where.port = 0;
    to.unknown = "no sentinel names a master";
    EXPECT_EQ(to.silence(false).code, errc::timed_out);
    EXPECT_EQ(to.silence(false).what, "no sentinel names a master");
}

}  // namespace
}  // namespace mortise::net
