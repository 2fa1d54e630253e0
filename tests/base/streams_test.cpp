// Tokens, refusals and results as text: on a stream, by to_string, by std::format where there is one.
#include <mortise/mortise.hpp>

#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace mortise {
namespace {

template <class T>
std::string streamed(const T& it) {
    std::ostringstream out;
    out << it;
#ifdef __cpp_lib_format
    EXPECT_EQ(std::format("{}", it), out.str());
    EXPECT_EQ(std::format("{:>300}", it), std::string(300 - out.str().size(), ' ') + out.str());
#endif
    EXPECT_EQ(std::string(to_string(it)), out.str());
    return out.str();
}

TEST(streams, words_and_numbers) {
    EXPECT_EQ(streamed(token{18446744073709551615u}), "18446744073709551615");
    EXPECT_EQ(streamed(errc::timed_out), "timed_out");
    EXPECT_EQ(streamed(errc::denied), "denied");
    EXPECT_EQ(streamed(release_result::taken_over), "taken over");
    EXPECT_EQ(streamed(event_kind::at_risk), "at risk");
    EXPECT_EQ(streamed(finding::grade::warning), "warning");
}

TEST(streams, every_code_has_a_word_of_its_own) {
    std::string all;
    for (int code = static_cast<int>(errc::busy); code <= static_cast<int>(errc::denied); ++code) {
        const std::string word{to_string(static_cast<errc>(code))};
        EXPECT_EQ(all.find(" " + word + " "), std::string::npos) << word;
        all += " " + word + " ";
    }
    EXPECT_EQ(all.find('?'), std::string::npos);
}

TEST(streams, who_holds_and_why_not) {
    const holder them{.host = "web-3", .pid = 4711, .label = "nightly", .held_for = std::chrono::seconds{12}};
    EXPECT_EQ(streamed(them), "web-3 pid 4711 (nightly), for 12 s");
    const refusal why{
        .reason = errc::timed_out, .holder = them, .place = 2, .detail = "lock 'n' (redis://x): too late"};
    EXPECT_EQ(streamed(why),
              "lock 'n' (redis://x): too late; held by web-3 pid 4711 (nightly), for 12 s; place 2 in the queue");
}

TEST(streams, attempts_and_holds) {
    client locks{"memory:streams"};
    attempt got = locks.try_acquire("n");
    const std::string held = "'n', token " + to_string(got->token());
    EXPECT_EQ(streamed(got), "granted " + held);
    EXPECT_EQ(streamed(*got), held);
    const attempt no = locks.try_acquire("n");
    EXPECT_EQ(streamed(no), no.refusal().describe());
    EXPECT_NE(streamed(no).find("lock 'n' (memory:streams)"), std::string::npos) << no;
    got->release();
    EXPECT_EQ(streamed(*got), "nothing");
    EXPECT_EQ(streamed(hold{}), "nothing");

    multi_lock both{locks, {"a", "b"}};
    const multi_attempt all = both.try_acquire();
    EXPECT_EQ(streamed(all).find("granted 'a', token "), 0u) << all;
    EXPECT_NE(streamed(all).find("; 'b', token "), std::string::npos) << all;
    const multi_attempt none = both.try_acquire();
    EXPECT_EQ(streamed(none), none.refusal().describe());
}

}  // namespace
}  // namespace mortise
