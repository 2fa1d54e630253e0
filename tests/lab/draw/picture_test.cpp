// Pictures and pages, as text. How they look is tried in tests/lab/browser.
#include "lab/draw/picture.hpp"

#include "lab/draw/html.hpp"
#include "lab/draw/svg.hpp"
#include "support/lab_sample.hpp"

#include <algorithm>
#include <cmath>
#include <regex>
#include <stack>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Elements close in the order in which they opened, and no character is left that XML does not allow.
void expect_well_formed(const std::string& xml) {
    static const std::regex tag(R"re(<(/?)([a-z]+)((?:\s+[a-z:A-Z-]+="[^"<]*")*)\s*(/?)>)re");
    std::stack<std::string> open;
    std::string rest;
    auto at = xml.cbegin();
    for (std::sregex_iterator next(xml.begin(), xml.end(), tag), end; next != end; ++next) {
        rest.append(at, (*next)[0].first);
        at = (*next)[0].second;
        if ((*next)[1] == "/") {
            ASSERT_FALSE(open.empty());
            ASSERT_EQ(open.top(), (*next)[2]);
            open.pop();
        } else if ((*next)[4] != "/") {
            open.push((*next)[2]);
        }
    }
    rest.append(at, xml.cend());
    EXPECT_TRUE(open.empty());
    EXPECT_THAT(rest, Not(HasSubstr("<")));
    EXPECT_THAT(std::regex_replace(rest, std::regex("&(amp|lt|gt|quot|#39);"), ""), Not(HasSubstr("&")));
    EXPECT_TRUE(std::none_of(xml.begin(), xml.end(), [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
}

double luminance(const std::string& colour) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; ++i) {
        const double part = std::stoi(colour.substr(1 + 2 * static_cast<std::size_t>(i), 2), nullptr, 16) / 255.0;
        sum += weights[i] * (part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double contrast(const std::string& one, const std::string& other, bool dark) {
    const double a = luminance(in_colours(one, dark)), b = luminance(in_colours(other, dark));
    return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

TEST(svg, is_well_formed_whatever_is_in_it) {
    story told = lab::testing::sample_story();
    expect_well_formed(svg_of(told, lab::testing::sample_naive(), language::english));
    told.title = told.mistake = lab::testing::hostile;
    for (const language in : {language::english, language::chinese})
        expect_well_formed(svg_of(told, lab::testing::played(form::naive, lab::testing::crowd()), in));
    expect_well_formed(svg_of(told, {}, language::english));
}

TEST(svg, says_what_a_reader_needs) {
    const std::string naive = svg_of(lab::testing::sample_story(), lab::testing::sample_naive(), language::english);
    for (const char* each : {"Two at once", "The lease ends while the holder works.", "thread 1", "10 s pass",
                             "DEL lock:ticket", "two hold it at once", "lock:ticket = 1, expires in 10",
                             "Broken: two hold it at once", "class=\"overlapping\"", "prefers-color-scheme: dark"})
        EXPECT_THAT(naive, HasSubstr(each));
    const std::string mended = svg_of(lab::testing::sample_story(), lab::testing::sample_mended(), language::chinese);
    EXPECT_THAT(mended, HasSubstr(">令牌 1</text>"));
    EXPECT_THAT(mended, HasSubstr("<title>token 1794976569009000</title>"));
    EXPECT_THAT(mended, Not(HasSubstr("class=\"overlapping\"")));
}

TEST(svg, and_the_page_need_nothing_from_elsewhere) {
    const std::string page =
        page_of(lab::testing::sample_story(), lab::testing::sample_naive(), lab::testing::sample_mended());
    const std::string svg = svg_of(lab::testing::sample_story(), lab::testing::sample_naive(), language::english);
    for (const std::string& each : {page, svg}) {
        const std::string rest = std::regex_replace(each, std::regex("xmlns=\"http://www.w3.org/2000/svg\""), "");
        EXPECT_THAT(rest, Not(HasSubstr("http")));
        EXPECT_THAT(rest, Not(HasSubstr("url(")));
        EXPECT_THAT(rest, Not(HasSubstr("src=")));
        EXPECT_THAT(rest, Not(HasSubstr("href=")));
    }
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(page, cannot_be_made_to_run_what_a_story_holds) {
    story told = lab::testing::sample_story();
    told.title = told.mistake = told.told = told.mend = lab::testing::hostile;
    const performance crowd = lab::testing::played(form::naive, lab::testing::crowd());
    const std::string page = page_of(told, crowd, crowd);
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, Not(HasSubstr("</script> ]]")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
    EXPECT_THAT(page, HasSubstr("\\u003cscript\\u003ealert(1)"));
}

TEST(colours, can_be_told_apart_in_light_and_in_dark) {
    struct pair {
        const char* text;
        const char* ground;
    };
    for (const bool dark : {false, true})
        for (const auto& [text, ground] : {pair{"$ink", "$page"},
                                           {"$soft", "$page"},
                                           {"$held", "$page"},
                                           {"$bad", "$page"},
                                           {"$ink", "$pale"},
                                           {"$soft", "$pale"},
                                           {"$bad", "$pale"},
                                           {"$held", "$pale"},
                                           {"$ink", "$head"},
                                           {"$soft", "$head"},
                                           {"$bad", "$head"},
                                           {"$late", "$page"},
                                           {"$on", "$good"},
                                           {"$on", "$bad"},
                                           {"$on", "$held"}})
            EXPECT_GE(contrast(text, ground, dark), 4.5)
                << text << " on " << ground << (dark ? " in dark" : " in light");
}

}  // namespace
}  // namespace lab
