// Nobody is missing: every registered store has a fixture, and every suite runs on every store x kind that has no written
// reason against it.
#include "base/url.hpp"
#include "conformance/suite.hpp"
#include "core/registry.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

struct run {
    std::string suite;  // "every_store/handles"
    std::string test;   // "may_be_released_by_another_thread"
    std::string pair;   // "memory_mutex"
};

// What this program was built to run, whatever the command line chose.
std::vector<run> read_runs() {
    std::vector<run> runs;
    const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
    for (int s = 0; s < program.total_test_suite_count(); ++s) {
        const ::testing::TestSuite& suite = *program.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            const std::string_view test = suite.GetTestInfo(t)->name();
            const auto slash = test.rfind('/');
            if (slash != std::string_view::npos)
                runs.push_back({suite.name(), std::string(test.substr(0, slash)), std::string(test.substr(slash + 1))});
        }
    }
    return runs;
}

const std::vector<run>& all_runs() {
    static const std::vector<run> all = read_runs();
    return all;
}

std::set<std::string> suites_of(std::string_view instantiation) {
    std::set<std::string> names;
    for (const run& r : all_runs())
        if (r.suite.starts_with(std::string(instantiation) + "/")) names.insert(r.suite);
    return names;
}

bool runs(const std::string& suite, const std::string& pair) {
    static const auto all = [] {
        std::set<std::pair<std::string, std::string>> found;
        for (const run& r : all_runs()) found.emplace(r.suite, r.pair);
        return found;
    }();
    return all.contains({suite, pair});
}

void expect_complete(std::string_view instantiation, const std::vector<pairing>& pairs) {
    const std::set<std::string> suites = suites_of(instantiation);
    EXPECT_FALSE(suites.empty()) << "no suite is called " << instantiation;
    for (const std::string& suite : suites)
        for (const pairing& p : pairs)
            EXPECT_NE(runs(suite, p.name()), !p.reason_against().empty())
                << suite << " on " << p.name() << ": must run, or carry a reason, and not both";
}

TEST(matrix, every_suite_runs_on_every_store_and_kind_or_says_why_not) {
    expect_complete("every_store_and_kind", every_store_and_kind());
    expect_complete("every_store", every_store());
}

TEST(matrix, every_conformance_suite_is_instantiated_for_all) {
    for (const run& r : all_runs())
        EXPECT_TRUE(r.suite.starts_with("every_store_and_kind/") || r.suite.starts_with("every_store/")) << r.suite;
}

TEST(matrix, a_reason_is_a_sentence) {
    std::set<std::string> whats{"names of holders", "tokens of holders"};
    for (const auto& each : all_kinds()) whats.emplace(each.name);
    for (const run& r : all_runs()) {
        const std::string suite = r.suite.substr(r.suite.find('/') + 1);
        whats.insert(suite);
        whats.insert(suite + "." + r.test);
    }
    for (const auto& fixture : fixtures())
        for (const std::string& what : whats)
            if (const std::string reason = fixture->reason_against(what); !reason.empty()) {
                EXPECT_GE(std::count(reason.begin(), reason.end(), ' '), 3) << fixture->store() << ": " << reason;
            }
}

TEST(matrix, fixtures_and_kinds_have_names_of_their_own) {
    std::set<std::string> names;
    for (const pairing& p : every_store_and_kind()) EXPECT_TRUE(names.insert(p.name()).second) << p.name();
}

// The first address of a fixture starts its servers, so all is asked of them at once.
TEST(addresses, are_never_repeated_and_every_registered_scheme_has_some) {
    const auto registered = core::registered_stores();
    ASSERT_FALSE(registered.empty());
    std::set<std::string> schemes;
    for (const auto& fixture : fixtures()) {
        if (is_wrapped(*fixture)) continue;  // has those of another
        std::set<std::string> seen;
        for (int i = 0; i < 5; ++i) {
            const std::string url = fixture->fresh_url();
            EXPECT_TRUE(seen.insert(url).second) << fixture->store();
            schemes.insert(base::url::parse(url).scheme);
        }
    }
    for (const core::store_entry& entry : registered) {
        // Schemes with one open() are one store; its fixture speaks one of them.
        const bool covered = std::any_of(registered.begin(), registered.end(), [&](const core::store_entry& other) {
            return other.open == entry.open && schemes.contains(std::string(other.scheme));
        });
        EXPECT_TRUE(covered) << entry.scheme << ": no fixture makes an address of it";
    }
}

}  // namespace
}  // namespace mortise::testing
