// What an address may say, and what it is told where it says something else.
#include "stores/redis/settings.hpp"

#include "support/children.hpp"

#include <mortise/error.hpp>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using mortise::testing::scratch_directory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

settings read(const std::string& address) {
    return settings::of(base::url::parse(address));
}

std::string refusal_of(const std::string& address) {
    try {
        read(address);
        return "none";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_url) << e.what();
        return e.what();
    }
}

void write(const std::string& path, const std::string& text, int mode = 0600) {
    std::ofstream{path} << text;
    ASSERT_EQ(::chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
}

TEST(redis_settings, one_server) {
    const settings s = read("redis://cache.example:7000/3");
    EXPECT_EQ(s.shape, settings::topology::single);
    EXPECT_EQ(s.endpoints, (std::vector<endpoint>{{"cache.example", 7000}}));
    EXPECT_EQ(s.database, 3);
    EXPECT_FALSE(s.tls.on);
}

TEST(redis_settings, are_these_if_nothing_is_said) {
    const settings s = read("redis://h");
    EXPECT_EQ(s.endpoints, (std::vector<endpoint>{{"h", 6379}}));
    EXPECT_EQ(s.database, 0);
    EXPECT_EQ(s.user, "");
    EXPECT_EQ(s.password, "");
    EXPECT_EQ(s.prefix, "mortise");
    EXPECT_EQ(s.timeout, 2s);
    EXPECT_EQ(s.replicas, 0u);
    EXPECT_EQ(s.replica_timeout, 1s);
}

TEST(redis_settings, addresses_in_brackets) {
    EXPECT_EQ(read("redis://[::1]:7000").endpoints, (std::vector<endpoint>{{"::1", 7000}}));
    EXPECT_EQ(read("redis://[::1]").endpoints, (std::vector<endpoint>{{"::1", 6379}}));
    EXPECT_EQ((endpoint{"::1", 7000}.shown()), "[::1]:7000");
    EXPECT_EQ((endpoint{"h", 7000}.shown()), "h:7000");
}

TEST(redis_settings, sentinels_and_the_name_of_their_master) {
    const settings s = read("redis+sentinel://u:p@a,b:7000/main?sentinel_user=watch");
    EXPECT_EQ(s.shape, settings::topology::sentinel);
    EXPECT_EQ(s.endpoints, (std::vector<endpoint>{{"a", 26379}, {"b", 7000}}));
    EXPECT_EQ(s.master, "main");
    EXPECT_EQ(s.user, "u");
    EXPECT_EQ(s.password, "p");
    EXPECT_EQ(s.sentinel_user, "watch");
}

TEST(redis_settings, a_cluster_by_some_of_its_nodes) {
    const settings s = read("redis+cluster://a:7000,b/0");
    EXPECT_EQ(s.shape, settings::topology::cluster);
    EXPECT_EQ(s.endpoints, (std::vector<endpoint>{{"a", 7000}, {"b", 6379}}));
}

TEST(redis_settings, secrets_in_the_address_and_in_files) {
    EXPECT_EQ(read("redis://:p%40ss@h").password, "p@ss");
    EXPECT_EQ(read("redis://:p%40ss@h").user, "");
    const scratch_directory scratch;
    write(scratch / "secret", "canary 7\nanother line\n");
    write(scratch / "windows", "canary\r\n");
    EXPECT_EQ(read("redis://u@h?password_file=" + scratch / "secret").password, "canary 7");
    EXPECT_EQ(read("redis://u@h?password_file=" + scratch / "secret").user, "u");
    EXPECT_EQ(read("redis://h?password_file=" + scratch / "windows").password, "canary");
    EXPECT_EQ(read("redis+sentinel://h/m?sentinel_password_file=" + scratch / "secret").sentinel_password, "canary 7");
}

TEST(redis_settings, every_other_option) {
    const settings s = read("redis://h?prefix=a:b&timeout=250ms&wait=2&wait_timeout=3s");
    EXPECT_EQ(s.prefix, "a:b");
    EXPECT_EQ(s.timeout, 250ms);
    EXPECT_EQ(s.replicas, 2u);
    EXPECT_EQ(s.replica_timeout, 3s);
    EXPECT_FALSE(read("redis+cluster://h?tls=0").tls.on);
}

struct slip {
    const char* address;
    const char* says;
};

TEST(redis_settings, slips_are_named_with_what_to_write) {
    const std::vector<slip> slips{
        {"redis:127.0.0.1", "a host is missing; write redis://127.0.0.1"},
        {"redis:", "a host is missing; write redis://127.0.0.1"},
        {"redis+cluster:h", "write redis+cluster://127.0.0.1"},
        {"redis://a,b", "takes one host; several are redis+sentinel://"},
        {"rediss://a,b", "takes one host"},
        {"redis://h/main", "the path must be a database's number"},
        {"redis://h/-1", "the path must be a database's number"},
        {"redis://h/1x", "the path must be a database's number"},
        {"redis+cluster://h/1", "a cluster has no databases"},
        {"redis+sentinel://h", "the master's name is missing"},
        {"redis+sentinel://h/", "the master's name is missing"},
        {"redis://u@h", "a user needs a password"},
        {"redis://u:canary@h?prefx=a",
         "no option 'prefx'; there are ca, cert, fair, fair_wait, key, key_prefix, password_file, prefix, protocol, "
         "sentinel_password_file, "
         "sentinel_user, server_name, timeout, tls, wait, wait_timeout"},
        {"redis://h?password=canary", "there is no option 'password'"},
        {"redis://h?prefix=", "prefix must be"},
        {"redis://h?protocol=redlock", "protocol must be native, setnx or redisson"},
        {"redis://h?protocol=setnx&prefix=a", "begin with key_prefix"},
        {"redis://h?protocol=redisson&prefix=a", "begin with key_prefix"},
        {"redis://h?key_prefix=a", "key_prefix is for protocol=setnx"},
        {"redis://h?fair=1", "fair and fair_wait are for protocol=redisson"},
        {"redis://h?protocol=setnx&fair_wait=60s", "fair and fair_wait are for protocol=redisson"},
        {"redis://h?protocol=redisson&fair=yes", "fair must be 0 or 1"},
        {"redis://h?prefix=a%7Bb", "prefix must be"},
        {"redis://h?prefix=a%20b", "prefix must be"},
        {"redis://h?timeout=2", "timeout must be a duration of 1 ms to 1 h"},
        {"redis://h?timeout=s", "timeout must be a duration"},
        {"redis://h?timeout=0s", "timeout must be"},
        {"redis://h?timeout=-1s", "timeout must be"},
        {"redis://h?timeout=2h", "timeout must be"},
        {"redis://h?timeout=3601s", "timeout must be"},
        {"redis://h?timeout=99999999999999999999s", "timeout must"},
        {"redis://h?wait_timeout=1m", "wait_timeout must be a duration"},
        {"redis://h?wait=many", "wait must be a number of replicas"},
        {"redis://h?wait=-1", "wait must be a number of replicas"},
        {"redis://h?wait=101", "wait must be"},
        {"redis://h?tls=yes", "tls must be 0 or 1"},
        {"redis://u:canary@h?ca=/x", "are for TLS; write rediss:// or tls=1"},
        {"redis://h?cert=/x&key=/y", "are for TLS"},
        {"redis://h?server_name=x", "are for TLS"},
        {"rediss://h?cert=/x", "cert and key go together"},
        {"rediss://h?key=/x", "cert and key go together"},
        {"rediss://u:canary@h?tls=0", "rediss:// is TLS; write redis:// for none"},
        {"redis://h?sentinel_user=x", "are for redis+sentinel://"},
        {"redis+cluster://h?sentinel_user=x", "are for redis+sentinel://"},
        {"redis://u:canary@h?password_file=/dev/null", "a password stands in the address and in password_file"},
        {"redis://h?password_file=/no/such", "password_file: cannot read '/no/such'"},
        {"redis+sentinel://h/m?sentinel_password_file=/no/such", "sentinel_password_file: cannot read"}};
    for (const auto& [address, says] : slips) {
        const std::string why = refusal_of(address);
        EXPECT_THAT(why, HasSubstr(says)) << address;
        EXPECT_THAT(why, Not(HasSubstr("canary")));
        EXPECT_THAT(why, Not(HasSubstr("\n")));
        EXPECT_THAT(why, HasSubstr("store address '"));
    }
}

TEST(redis_settings, secrets_that_others_may_read_are_refused) {
    const scratch_directory scratch;
    write(scratch / "open", "canary\n", 0644);
    EXPECT_THAT(refusal_of("redis://h?password_file=" + scratch / "open"),
                AllOf(HasSubstr("others may read"), HasSubstr("chmod 600"), Not(HasSubstr("canary"))));
    write(scratch / "empty", "");
    EXPECT_THAT(refusal_of("redis://h?password_file=" + scratch / "empty"), HasSubstr("cannot read"));
}

TEST(redis_settings, every_cut_of_an_address_is_read_or_refused) {
    const std::string whole = "redis+sentinel://ann:canary@h:7000,[::1]:7001/main?prefix=a&timeout=5s&wait=1";
    for (std::size_t n = whole.find('@') + 1; n <= whole.size(); ++n) {
        try {
            read(whole.substr(0, n));
        } catch (const error& e) {
            EXPECT_THAT(e.what(), Not(HasSubstr("canary"))) << n;
        }
    }
}

}  // namespace
}  // namespace mortise::stores::redis
