// Where a server listens: what is read, and that what is shown is read again.
#include "net/endpoint.hpp"

#include <gtest/gtest.h>

namespace mortise::net {
namespace {

TEST(endpoint, reads_hosts_with_and_without_a_port) {
    EXPECT_EQ(endpoint::in("a.example", 6379), (endpoint{"a.example", 6379}));
    EXPECT_EQ(endpoint::in("a.example:7000", 6379), (endpoint{"a.example", 7000}));
    EXPECT_EQ(endpoint::in("[::1]", 6379), (endpoint{"::1", 6379}));
    EXPECT_EQ(endpoint::in("[::1]:7000", 6379), (endpoint{"::1", 7000}));
}

TEST(endpoint, refuses_what_is_no_address) {
    for (const char* text : {"", ":7000", "a:", "a:0", "a:65536", "a:x", "[::1", "::1", "a b:1"})
        EXPECT_EQ(endpoint::in(text, 6379), std::nullopt) << text;
    EXPECT_EQ(endpoint::of("", "1"), std::nullopt);
    EXPECT_EQ(endpoint::of("a", "0"), std::nullopt);
}

TEST(endpoint, what_is_shown_is_read_again) {
    for (const char* host : {"a.example", "127.0.0.1", "::1", "fe80::1%eth0"}) {
        const endpoint one{host, 7000};
        EXPECT_EQ(endpoint::in(one.shown(), 1), one);
    }
}

}  // namespace
}  // namespace mortise::net
