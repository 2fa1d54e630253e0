#include "lab/draw/terminal.hpp"

#include "lab/draw/columns.hpp"
#include "support/lab_sample.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const performance& played, language in, const terminal_options& options) {
    std::ostringstream out;
    print_timeline(out, lab::testing::sample_story(), played, in, options);
    return out.str();
}

TEST(terminal, shows_lanes_bars_and_what_overlaps) {
    const std::string page = printed(lab::testing::sample_naive(), language::english, {});
    EXPECT_EQ(page,
              "Two at once – naive form\n"
              "Mistake: The lease ends while the holder works.\n"
              "What happens: Thread 2 gets in after 10 s.\n"
              "\n"
              "        thread 1  thread 2\n"
              "0 s     ●         │         thread 1: SET lock:ticket 1 EX 10 NX → OK\n"
              "        ┃         │           lock:ticket = 1, expires in 10 s\n"
              "        ┃         │         10 s pass\n"
              "10 s    ┃         ●         thread 2: SET lock:ticket 1 EX 10 NX → OK\n"
              "        ┃!        ┃!          ! two hold it at once\n"
              "        ┃!        ┃!        5 s pass\n"
              "15 s    ●         ┃!        thread 1: DEL lock:ticket → 1\n"
              "                  ┃           no key\n"
              "                  ●         thread 2: DEL lock:ticket → 0\n"
              "\n"
              "┃ holds the lock, as it believes   ┃! two hold it at once\n"
              "Broken: two hold it at once\n");
}

TEST(terminal, shows_the_token_beside_the_hold) {
    const std::string page = printed(lab::testing::sample_mended(), language::chinese, {});
    EXPECT_THAT(page, HasSubstr("●#1       │         thread 1：claim ticket → 已授予，令牌 1\n"));
    EXPECT_THAT(page, HasSubstr("锁有效：没有出错\n"));
}

TEST(terminal, colours_only_if_asked_to) {
    EXPECT_THAT(printed(lab::testing::sample_naive(), language::english, {}), Not(HasSubstr("\x1b")));
    EXPECT_THAT(printed(lab::testing::sample_naive(), language::english, {.colour = true}),
                HasSubstr("\x1b[1;31m┃!\x1b[0m"));
}

TEST(terminal, does_without_unicode) {
    const std::string page = printed(lab::testing::sample_naive(), language::english, {.unicode = false});
    for (const char c : page) ASSERT_GE(c, 0) << page;
    EXPECT_THAT(page, HasSubstr("#!        #!"));
}

TEST(terminal, keeps_to_its_width) {
    for (const std::size_t width : {60u, 80u, 120u})
        for (const auto& [in, unicode] :
             {std::pair{language::english, true}, {language::chinese, true}, {language::english, false}})
            for (const trace& all : {lab::testing::crowd(), lab::testing::two_at_once()}) {
                std::istringstream page{
                    printed(lab::testing::played(form::naive, all), in, {.width = width, .unicode = unicode})};
                for (std::string line; std::getline(page, line);) {
                    EXPECT_LE(columns_of(line), width) << line;
                    EXPECT_EQ(line, harmless(line));
                    EXPECT_FALSE(line.ends_with(' ')) << line;
                }
            }
}

}  // namespace
}  // namespace lab
