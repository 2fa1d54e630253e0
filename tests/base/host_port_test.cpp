// Hosts and ports as addresses name them.
#include "base/host_port.hpp"

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

void expect_parts(std::string_view text, std::string_view host, std::optional<std::string_view> port) {
    const auto parts = host_port::split(text);
    ASSERT_TRUE(parts) << text;
    EXPECT_EQ(parts->host, host) << text;
    EXPECT_EQ(parts->port, port) << text;
}

TEST(host_port, splits_names_and_addresses) {
    expect_parts("a.example", "a.example", std::nullopt);
    expect_parts("a.example:7000", "a.example", "7000");
    expect_parts("127.0.0.1:1", "127.0.0.1", "1");
    expect_parts("[::1]", "::1", std::nullopt);
    expect_parts("[::1]:7001", "::1", "7001");
}

TEST(host_port, leaves_the_port_as_it_is_written) {
    expect_parts("a:", "a", "");
    expect_parts("a:b", "a", "b");
    expect_parts("a:b:1", "a", "b:1");
    expect_parts("[::1]:x", "::1", "x");
}

TEST(host_port, refuses_what_is_no_host) {
    for (const char* text :
         {"", ":", ":80", "[", "[]", "[]:80", "[::1", "[::1]80", "::1", "a b", "a@b", "a]b", "[a[b]"})
        EXPECT_FALSE(host_port::split(text)) << text;
}

TEST(host_port, ports_are_1_to_65535) {
    EXPECT_EQ(port_number("1"), 1);
    EXPECT_EQ(port_number("65535"), 65535);
    for (const char* text : {"", "0", "65536", "-1", "+1", " 1", "1 ", "0x1", "1a", "99999999999999999999"})
        EXPECT_FALSE(port_number(text)) << text;
}

}  // namespace
}  // namespace mortise::base
