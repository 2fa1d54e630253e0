// What the doctor says of a cluster.
#include "stores/etcd/diagnostics.hpp"

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string story_of(const cluster_report& seen, settings how = {}) {
    how.endpoints.resize(seen.members.size(), "a:2379");
    std::string text;
    for (const finding& one : findings_of(how, seen)) {
        text += std::string(to_string(one.is)) + ": " + one.what + " -> " + one.remedy + "\n";
        EXPECT_TRUE(one.is <= finding::grade::note || !one.remedy.empty()) << one.what;
    }
    return text;
}
std::string story_of(const std::vector<member_report>& all) {
    return story_of(cluster_report{.members = all});
}

member_report well(const std::string& version) {
    return {.address = "a:2379", .answered = true, .version = version, .took = std::chrono::milliseconds{2}};
}

TEST(etcd_diagnostics, knows_versions_that_break_leases) {
    EXPECT_THAT(story_of({well("3.4.23")}), HasSubstr("may end leases that are alive"));
    EXPECT_THAT(story_of({well("3.4.31")}), Not(HasSubstr("may end leases that are alive")));
    EXPECT_THAT(story_of({well("3.4.31")}), HasSubstr("reported as kept alive"));
    EXPECT_THAT(story_of({well("3.5.12")}), HasSubstr("may end leases that are alive"));
    EXPECT_THAT(story_of({well("3.6.4")}), HasSubstr("reported as kept alive"));
    for (const char* good : {"3.4.42", "3.5.28", "3.6.9", "3.7.0"})
        EXPECT_THAT(story_of({well(good)}), Not(HasSubstr("known bug"))) << good;
    EXPECT_THAT(story_of({well("3.3.9")}), HasSubstr("problem: member a:2379 is older than etcd 3.4"));
}

TEST(etcd_diagnostics, tells_of_members_that_are_not_well) {
    const member_report down{.address = "b:2379", .trouble = "connection refused"};
    EXPECT_THAT(story_of({well("3.6.9"), down}),
                HasSubstr("warning: member b:2379 does not answer: connection refused"));
    EXPECT_THAT(story_of({well("3.6.9"), down}), Not(HasSubstr("problem")));
    EXPECT_THAT(story_of({down}), HasSubstr("problem: no member of"));
    member_report alone = well("3.6.9");
    alone.has_leader = false;
    EXPECT_THAT(story_of({alone}), HasSubstr("problem: member a:2379 knows no leader"));
    const member_report says_so{.address = "b:2379", .trouble = "no leader", .has_leader = false};
    EXPECT_THAT(story_of({says_so}), HasSubstr("problem: member b:2379 knows no leader"));
    EXPECT_THAT(story_of({says_so}), Not(HasSubstr("start")));
    member_report full = well("3.6.9");
    full.errors = {"memberID:1 alarm:NOSPACE"};
    EXPECT_THAT(story_of({full}), HasSubstr("NOSPACE"));
}

TEST(etcd_diagnostics, tells_of_a_refusal_as_such) {
    const member_report refuses{.address = "b:2379", .refused = true, .trouble = "invalid user ID or password"};
    EXPECT_THAT(story_of({refuses}), HasSubstr("problem: member b:2379 refuses: invalid user ID or password"));
    EXPECT_THAT(story_of({refuses}), Not(HasSubstr("start")));
    const cluster_report no_rights{.members = {well("3.6.9")}, .refusal = "permission denied"};
    EXPECT_THAT(story_of(no_rights), HasSubstr("problem: no lock can be had: permission denied"));
    EXPECT_THAT(story_of(no_rights), HasSubstr("read and write the keys of the prefix mortise"));
    settings literal;
    literal.protocol = settings::layout::concurrency;
    EXPECT_THAT(story_of(no_rights, literal),
                HasSubstr("read and write the keys of the lock, which begin with its name"));
    EXPECT_THAT(story_of({well("3.6.9")}), Not(HasSubstr("problem")));
}

TEST(etcd_diagnostics, knows_that_learners_take_no_locks) {
    member_report learner = well("3.6.9");
    learner.learner = true;
    EXPECT_THAT(story_of({well("3.6.9"), learner}), HasSubstr("warning: member a:2379 is a learner"));
    EXPECT_THAT(story_of({well("3.6.9"), learner}), Not(HasSubstr("problem")));
    EXPECT_THAT(story_of({learner}), HasSubstr("problem: no member that is named takes locks"));
}

TEST(etcd_diagnostics, tells_of_leases_and_of_open_passwords) {
    EXPECT_THAT(story_of(cluster_report{{well("3.6.9")}, std::chrono::seconds{2}}), HasSubstr("shortest lease is 2 s"));
    settings open;
    open.user = "ann";
    open.password = "open-sesame";
    EXPECT_THAT(story_of(cluster_report{{well("3.6.9")}}, open), HasSubstr("unencrypted"));
    EXPECT_THAT(story_of(cluster_report{{well("3.6.9")}}, open), Not(HasSubstr("open-sesame")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
