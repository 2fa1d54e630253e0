#include "stores/sql/strangers.hpp"

#include <string>

#include <gmock/gmock.h>

namespace mortise::stores::sql {
namespace {

TEST(sql_strangers, are_known_by_their_first_words) {
    EXPECT_EQ(server_that_says("-DENIED Redis is running in protected mode"), "a Redis server");
    EXPECT_EQ(server_that_says("SSH-2.0-OpenSSH_9.2p1\r\n"), "an SSH server");
    EXPECT_EQ(server_that_says("HTTP/1.1 400 Bad Request\r\n"), "a web server");
    EXPECT_EQ(server_that_says(std::string("\x5f\0\0\0\x0a", 5) + "5.5.5-10.11.6-MariaDB"),
              "a MySQL or MariaDB server");
    EXPECT_EQ(server_that_says(std::string("\x45\0\0\0\xff\x10\x04", 7) + "Too many connections"),
              "a MySQL or MariaDB server");
}

// What PostgreSQL answers to a request for TLS, a request for a password, an error, and what says nothing.
TEST(sql_strangers, leave_postgres_alone) {
    EXPECT_EQ(server_that_says("S"), "");
    EXPECT_EQ(server_that_says("N"), "");
    EXPECT_EQ(server_that_says(std::string("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256", 22)), "");
    EXPECT_EQ(server_that_says(std::string("E\0\0\0\x60SFATAL\0", 12)), "");
    EXPECT_EQ(server_that_says(""), "");
}

TEST(sql_strangers, are_told_from_what_was_wanted) {
    EXPECT_EQ(wrong_server("db:3306", "SSH-2.0", "MySQL"), "db:3306 is an SSH server, not MySQL; is the port right?");
    EXPECT_EQ(wrong_server("db:3306", "what?", "MySQL"), "db:3306 does not speak as MySQL does; is the port right?");
}

}  // namespace
}  // namespace mortise::stores::sql
