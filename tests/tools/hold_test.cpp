// `hold`, `acquire`, `renew`, `release`.
#include "program.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class hold_command : public command_suite {
protected:
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }

    // With an input that stays open until `input` ends.
    child hold(const line& arguments, int input) const {
        std::filesystem::remove(scratch_ / "out");
        return child{[&] {
            if (::dup2(input, STDIN_FILENO) < 0) return 97;
            redirect(STDOUT_FILENO, scratch_ / "out", O_WRONLY | O_CREAT | O_TRUNC);
            redirect(STDERR_FILENO, scratch_ / "err", O_WRONLY | O_CREAT | O_TRUNC);
            return become(arguments);
        }};
    }
};

class open_pipe {
public:
    open_pipe() {
        if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    }
    ~open_pipe() {
        ::close(ends_[0]);
        finish();
    }
    int input() const { return ends_[0]; }
    void write(const std::string& text) const { static_cast<void>(!::write(ends_[1], text.data(), text.size())); }
    void finish() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

private:
    int ends_[2]{-1, -1};
};

TEST_F(hold_command, holds_until_its_input_ends) {
    open_pipe to;
    child made = hold({"hold", "x"}, to.input());
    ASSERT_TRUE(eventually_says("out", "\n"));
    ASSERT_EQ(held().size(), 1U);
    EXPECT_EQ(content(scratch_ / "out"), mortise::to_string(held().front().holder.token) + "\n");
    to.write("a line that means nothing\n");
    EXPECT_EQ(mortise({"hold", "-n", "x"}).code, 1);
    to.finish();
    EXPECT_EQ(made.wait(), 0);
    EXPECT_TRUE(held().empty());
}

TEST_F(hold_command, holds_until_a_signal) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        open_pipe to;
        child made = hold({"hold", "--json", "x"}, to.input());
        ASSERT_TRUE(eventually_says("out", "}\n"));
        EXPECT_THAT(content(scratch_ / "out"),
                    MatchesRegex(R"(\{"name":"x","token":"[0-9]+","holder":"[^"]+:[0-9]+"\}.)"));
        made.tell(signal);
        EXPECT_EQ(made.wait(), 0);
        EXPECT_TRUE(held().empty());
    }
}

TEST_F(hold_command, a_signal_ends_the_wait_and_leaves_nobody_behind) {
    mortise::client locks{"host:" + store_};
    const mortise::hold mine = locks.acquire("x");
    for (const char* verb : {"hold", "acquire"}) {
        child made = start({verb, "x"});
        ASSERT_TRUE(eventually([&] { return held().front().waiting == 1; }));
        made.tell(SIGINT);
        EXPECT_EQ(made.wait(), 130);
        EXPECT_EQ(held().front().waiting, 0U);
    }
}

TEST_F(hold_command, says_when_the_lock_is_lost) {
    open_pipe to;
    child made = hold({"hold", "--lease", "300ms", "--no-renew", "x"}, to.input());
    EXPECT_EQ(made.wait(), 75);
    EXPECT_EQ(content(scratch_ / "err"), "mortise: 'x': the lock was lost\n");
}

TEST_F(hold_command, a_detached_claim_outlives_the_command_until_it_is_released) {
    const outcome got = mortise({"acquire", "night", "--lease", "60s", "--label", "cron"});
    ASSERT_EQ(got.code, 0) << got.err;
    std::string id, token;
    std::istringstream{got.out} >> id >> token;
    ASSERT_EQ(held().size(), 1U);
    EXPECT_EQ(token, mortise::to_string(held().front().holder.token));
    EXPECT_EQ(held().front().holder.label, "cron");
    EXPECT_EQ(mortise({"acquire", "-n", "-E", "17", "night"}).code, 17);

    const outcome wrong = mortise({"release", "night", "--id", std::string(32, '1')});
    EXPECT_EQ(wrong.code, 75);
    EXPECT_EQ(held().size(), 1U);
    EXPECT_EQ(mortise({"release", "other", "--id", id}).code, 75);
    const outcome done = mortise({"release", "night", "--json", "--id", id});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, "{\"name\":\"night\",\"result\":\"released\"}\n");
    EXPECT_TRUE(held().empty());
}

TEST_F(hold_command, a_detached_claim_lasts_as_long_as_it_is_renewed) {
    std::string id;
    std::istringstream{mortise({"acquire", "night", "--lease", "2s"}).out} >> id;
    const outcome longer = mortise({"renew", "night", "--lease", "60s", "--json", "--id", id});
    EXPECT_EQ(longer.code, 0) << longer.err;
    EXPECT_EQ(longer.out, "{\"name\":\"night\",\"renewed\":true,\"lease_s\":60}\n");
    EXPECT_EQ(mortise({"renew", "night", "--lease", "1s", "--id", id}).code, 0) << "never shortens";
    EXPECT_EQ(mortise({"run", "-w", "3s", "night", "--", "true"}).code, 1) << "the first lease is over";

    const outcome too_short = mortise({"renew", "night", "--lease", "50ms", "--id", id});
    EXPECT_EQ(too_short.code, 64);
    EXPECT_EQ(too_short.err, "mortise: --lease of 50 ms: use 100 ms to 24 h\n");

    EXPECT_EQ(mortise({"renew", "night", "--id", std::string(32, '1')}).code, 75);
    EXPECT_EQ(mortise({"renew", "day", "--id", id}).err,
              "mortise: no claim on 'day' has this id: its lease expired, it was released or broken, or the id is of "
              "another name\n");
    EXPECT_EQ(mortise({"release", "night", "--id", id}).code, 0);
    const outcome late = mortise({"renew", "night", "--id", id});
    EXPECT_EQ(late.code, 75);
    EXPECT_EQ(late.err,
              "mortise: no claim on 'night' has this id: its lease expired, it was released or broken, or the id is of "
              "another name\n");
}

TEST_F(hold_command, a_detached_claim_ends_with_its_lease) {
    ASSERT_EQ(mortise({"acquire", "night", "--lease", "200ms"}).code, 0);
    const outcome next = mortise({"acquire", "-w", "20s", "--json", "night"});
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_THAT(next.out, HasSubstr(R"("lease_s":30)"));
}

TEST_F(hold_command, where_locks_end_with_their_process_none_is_acquired_renewed_or_released) {
    const std::string store = "zookeeper://127.0.0.1:1";  // nobody is asked
    try {
        const mortise::client built{store};
    } catch (const mortise::error& e) {
        if (e.code() == mortise::errc::unknown_store) GTEST_SKIP() << "the one store of that kind was not built";
        throw;
    }
    ::setenv("MORTISE_STORE", store.c_str(), 1);
    const std::string id(32, '1');
    for (const line& asked : {line{"acquire", "x"}, line{"renew", "x", "--id", id}, line{"release", "x", "--id", id}}) {
        const outcome got = mortise(asked);
        EXPECT_EQ(got.code, 64) << asked.front();
        EXPECT_EQ(got.err, "mortise: " + store +
                               " releases a lock when the process that acquired it ends; use run or hold instead\n");
    }
}

}  // namespace
}  // namespace command
