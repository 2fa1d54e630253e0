// The command on a Redis that cannot be used: what it says, and that it never says a secret.
#include "program.hpp"
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/scripted.hpp"

#include <gmock/gmock.h>

namespace command {
namespace {

using mortise::stores::redis::servers::canary;
using mortise::stores::redis::servers::scripted;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class redis_trouble : public command_suite {
protected:
    // What every verb says there, and its code. The canary is in none of it.
    void expect_said(const std::string& address, int code, const std::string& words) const {
        const std::string url = "redis://ann:" + std::string(canary) + "@" + address + "?timeout=5s";
        const std::vector<line> tries{
            {"doctor"},
            {"doctor", "--json"},
            {"run", "-v", "x", "--", "true"},
            {"run", "-v", "--json", "x", "--", "true"},
            {"list"},
            {"list", "--json"},
        };
        ::setenv("MORTISE_STORE", url.c_str(), 1);
        for (const line& arguments : tries) {
            const outcome got = mortise(arguments);
            const std::string all = got.out + got.err;
            SCOPED_TRACE(arguments[0] + " " + arguments.back() + ": " + all);
            EXPECT_EQ(got.code, code);
            EXPECT_THAT(all, AllOf(HasSubstr(address), HasSubstr(words), Not(HasSubstr(canary))));
        }
    }
};

TEST_F(redis_trouble, a_wrong_password_is_named_by_every_verb_and_never_shown) {
    const scripted strict{"-WRONGPASS invalid username-password pair or user is disabled.\r\n"};
    expect_said(strict.address(), 69, "wrong user or password");
}

TEST_F(redis_trouble, a_server_that_is_none_is_named_by_every_verb) {
    const scripted web{"HTTP/1.1 400 Bad Request\r\n\r\n"};
    expect_said(web.address(), 69, "is not Redis' protocol");
}

TEST_F(redis_trouble, those_who_only_look_name_the_store_that_did_not_answer) {
    ::setenv("MORTISE_STORE", ("redis://ann:" + std::string(canary) + "@127.0.0.1:1").c_str(), 1);
    for (const line& arguments : {line{"list"}, {"show", "x"}, {"watch"}, {"break", "x", "--token", "5"}}) {
        const outcome got = mortise(arguments);
        EXPECT_EQ(got.code, 69);
        EXPECT_EQ(got.err,
                  "mortise: store redis://ann:***@127.0.0.1:1: it did not answer: 127.0.0.1:1: Connection refused\n");
    }
}

}  // namespace
}  // namespace command
