// The rights that are needed: those that are in the list, all of them, and no others.
#include "stores/redis/rights.hpp"

#include "stores/redis/baseline/resp_client.hpp"
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/single.hpp"

#include <mortise/client.hpp>

#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using servers::canary;
using servers::complaint_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Every verb of a client, as a user with few rights.
class redis_rights : public ::testing::Test {
protected:
    std::string url() const {
        return "redis://few:" + std::string(canary) + "@" + address_ + "/" + std::to_string(settings_.database) +
               "?timeout=1s&wait_timeout=100ms";
    }
    // A line of redis-cli.
    void say(const std::string& line) {
        std::vector<std::string> words;
        std::istringstream in{line};
        for (std::string word; in >> word;) words.push_back(word);
        on_.node().command(words);
    }
    void give(const std::string& rules) { say("ACL SETUSER few reset on >" + std::string(canary) + " " + rules); }

    // What each verb complained of: "list: what".
    std::vector<std::string> complaints() {
        std::vector<std::string> all;
        const auto judge = [&](const std::string& verb, const std::function<void()>& doing) {
            try {
                doing();
            } catch (const error& e) {
                EXPECT_THAT(e.what(), Not(HasSubstr(canary)));
                if (e.code() == errc::denied)
                    all.push_back(verb + ": " + e.what());
                else
                    ADD_FAILURE() << verb << ": " << e.what();
            }
        };
        judge("claim and wait", [&] {
            client locks{url()};
            client others{url()};
            hold mine = locks.acquire("n");
            std::jthread later{[&] {
                std::this_thread::sleep_for(50ms);
                EXPECT_EQ(mine.release(), release_result::released);
            }};
            hold theirs = others.acquire("n", {.wait = 20s});
            EXPECT_EQ(theirs.release(), release_result::released);
        });
        judge("list and break", [&] {
            client locks{url()};
            hold mine = locks.acquire("n");
            const auto seen = locks.list();
            ASSERT_EQ(seen.size(), 1u);
            std::error_code ec;
            EXPECT_TRUE(locks.break_lock("n", seen[0].holder.token, "test", ec)) << ec.message();
        });
        judge("claim that waits for replicas", [&] {
            client locks{url(), {.patience = 500ms}};
            const attempt got = locks.try_acquire("n", {.durability = durability::wait(1)});
            ASSERT_FALSE(got);
            if (got.refusal().reason == errc::denied) throw error(errc::denied, got.refusal().detail);
        });
        judge("strict claim", [&] {
            client locks{url(), {.strict = true}};
            static_cast<void>(locks.acquire("n"));
        });
        return all;
    }

    servers::single on_{{"appendonly yes"}};
    const std::string address_ = on_.node().address();
    settings settings_ = [] {
        settings s;
        s.user = "few";
        s.database = 1;
        return s;
    }();
};

// And warnings.
std::vector<std::string> problems(const std::string& url) {
    std::vector<std::string> all;
    std::error_code ec;
    client locks{url};
    for (const finding& one : locks.check(ec)) {
        EXPECT_THAT(one.what + one.remedy, Not(HasSubstr(canary)));
        if (one.is >= finding::grade::warning)
            all.push_back(std::string(to_string(one.is)) + " " + one.what + " -> " + one.remedy);
    }
    EXPECT_FALSE(ec) << ec.message();
    return all;
}

TEST_F(redis_rights, those_of_the_list_suffice) {
    give(acl_rules(settings_));
    EXPECT_THAT(complaints(), IsEmpty());
    EXPECT_THAT(problems(url()), IsEmpty());
}

TEST_F(redis_rights, each_of_the_list_is_needed_and_named_when_it_is_missing) {
    const auto needed = needed_rights(settings_);
    ASSERT_GT(needed.size(), 15u);
    for (const right& one : needed) {
        SCOPED_TRACE(one.rule);
        give(acl_rules(settings_) + " -" + one.rule.substr(1));
        const auto heard = complaints();
        const std::string command = one.rule.substr(1);
        EXPECT_THAT(heard, Not(IsEmpty()));
        for (const std::string& what : heard) EXPECT_THAT(what, HasSubstr(command));
        const auto found = problems(url());
        ASSERT_EQ(found.size(), 1u);
        EXPECT_THAT(found[0],
                    AllOf(HasSubstr(command), HasSubstr(acl_remedy(settings_)), Not(HasSubstr("mortise doctor"))));
        const bool locks = !complaint_of(url()).code;
        EXPECT_THAT(found[0], ::testing::StartsWith(locks ? "warning " : "problem "));
        EXPECT_EQ(locks, one.rule == "+scan" || one.rule == "+wait" || one.rule == "+info");
    }
}

TEST_F(redis_rights, keys_and_channels_are_named_too) {
    give(acl_rules(settings_) + " resetkeys ~other:*");
    auto heard = complaint_of(url());
    EXPECT_EQ(heard.code, errc::denied);
    EXPECT_TRUE(heard.readable()) << heard.what;
    EXPECT_THAT(heard.what,
                AllOf(HasSubstr("'few' lacks ~mortise:*"), Not(HasSubstr("+hset")), HasSubstr("mortise doctor")));
    EXPECT_LT(heard.after, servers::long_patience / 2);
    const auto line_is_given = ElementsAre(HasSubstr("-> in redis-cli: " + acl_remedy(settings_)));
    EXPECT_THAT(problems(url()), line_is_given);

    give(acl_rules(settings_) + " resetchannels &other:*");
    heard = complaint_of(url());
    EXPECT_EQ(heard.code, errc::denied);
    EXPECT_THAT(heard.what, HasSubstr("channels"));
    EXPECT_THAT(problems(url()), line_is_given);
}

// The user of an application, who is to take locks too.
TEST_F(redis_rights, the_line_for_a_user_that_is_there_only_adds) {
    const auto answers = [&](std::initializer_list<std::string_view> words) {
        std::string bytes;
        append(bytes, words);
        resp_client few{settings::of(base::url::parse(url())), ""};
        return std::string(few.ask(bytes).text);
    };
    for (const char* former : {"~app:* &app:* +get +set", "~* &* +get +set", "~* &app:* +@all -hset"}) {
        SCOPED_TRACE(former);
        give(former);
        const auto found = problems(url());
        ASSERT_EQ(found.size(), 1u);
        say(found[0].substr(found[0].find("ACL SETUSER")));
        EXPECT_THAT(problems(url()), IsEmpty());
        const auto heard = complaint_of(url());
        EXPECT_FALSE(heard.code) << heard.what;
        EXPECT_EQ(answers({"SET", "app:a", "kept"}), "OK");
        EXPECT_EQ(answers({"GET", "app:a"}), "kept");
        EXPECT_THAT(answers({"HSET", "app:h", "f", "v"}), ::testing::StartsWith("NOPERM")) << "it was for locks only";
    }
    EXPECT_THAT(complaints(), IsEmpty());
}

TEST_F(redis_rights, a_right_that_is_taken_away_later_is_missed_when_it_is_used) {
    give(acl_rules(settings_));
    client locks{url()};
    static_cast<void>(locks.acquire("n"));
    on_.node().command({"acl", "setuser", "few", "-hset"});
    std::error_code ec;
    static_cast<void>(locks.acquire("n", {}, ec));
    EXPECT_EQ(ec, errc::denied) << ec.message();
}

// The claim is not made before it is known that its replicas can be waited for.
TEST_F(redis_rights, a_claim_that_is_denied_leaves_no_lock) {
    give(acl_rules(settings_) + " -wait");
    client locks{url()};
    const attempt denied = locks.try_acquire("n", {.durability = durability::wait(1)});
    EXPECT_EQ(denied.reason(), errc::denied);
    EXPECT_TRUE(locks.try_acquire("n"));
}

// The prefix may hold what is a sign in patterns.
TEST(redis_acl, names_the_prefix_word_for_word) {
    settings config;
    config.prefix = "a*b";
    EXPECT_THAT(acl_rules(config),
                ::testing::StartsWith("resetkeys ~a\\*b:* resetchannels &a\\*b:* -@all +eval +evalsha "));
    EXPECT_EQ(acl_of_a_new_user(config), "ACL SETUSER mortise on >PASSWORD " + acl_rules(config));
    config.user = "ann";
    EXPECT_THAT(acl_remedy(config), AllOf(::testing::StartsWith("ACL SETUSER ann (~a\\*b:* &a\\*b:* +eval +evalsha "),
                                          ::testing::EndsWith(")")));
}

TEST(redis_acl, resets_no_user_that_is_there) {
    settings config;
    for (const char* user : {"", "default"}) {
        config.user = user;
        EXPECT_EQ(acl_remedy(config), acl_of_a_new_user(config)) << "the default user is that of all others too";
    }
    for (const char* user : {"ann", "mortise"}) {
        config.user = user;
        EXPECT_THAT(acl_remedy(config), AllOf(HasSubstr(std::string(" ") + user + " ("), Not(HasSubstr("reset")),
                                              Not(HasSubstr("-@all")), Not(HasSubstr("PASSWORD"))));
        EXPECT_THAT(acl_of_a_new_user(config), Not(HasSubstr(std::string(" ") + user + " ")));
    }
}

TEST(redis_acl, names_exactly_what_the_scripts_call) {
    const scripts& all = scripts::all();
    std::set<std::string> called;
    const std::regex calls{R"(redis\.p?call\('([A-Z]+)')"};
    for (const script* one :
         {&all.claim, &all.release, &all.renew, &all.heartbeat, &all.break_hold, &all.show, &all.rights})
        for (std::sregex_iterator it{one->source.begin(), one->source.end(), calls}, end; it != end; ++it)
            called.insert((*it)[1]);
    std::set<std::string> asked;
    for (const right& one : rights_of_scripts({})) asked.insert(one.sample.front());
    EXPECT_EQ(asked, called);
}

TEST(redis_acl, the_readme_shows_the_lines) {
    std::ifstream in{std::string(MORTISE_SOURCE_DIR) + "/src/stores/redis/README.md"};
    std::stringstream text;
    text << in.rdbuf();
    settings there;
    there.user = "NAME";
    EXPECT_THAT(text.str(),
                AllOf(HasSubstr("\n" + acl_of_a_new_user({}) + "\n"), HasSubstr("\n" + acl_remedy(there) + "\n")));
    settings shared;
    shared.protocol = settings::layout::setnx;
    shared.key_prefix = "lock:";
    EXPECT_THAT(text.str(), HasSubstr("\n" + acl_of_a_new_user(shared) + "\n"));
    shared.protocol = settings::layout::redisson;
    EXPECT_THAT(text.str(), HasSubstr("\n" + acl_of_a_new_user(shared) + "\n"));
}

TEST(redis_acl, what_the_scripts_for_redisson_call_is_asked_for) {
    const scripts& all = scripts::all();
    const std::regex calls{R"(redis\.p?call\('(\w+)')"};
    for (const bool fair : {false, true}) {
        settings config;
        config.protocol = settings::layout::redisson;
        config.fair = fair;
        std::set<std::string> called{"PUBLISH", "SUBSCRIBE"};
        const std::vector<const script*> plain{&all.redisson_claim, &all.redisson_write, &all.redisson_read,
                                               &all.redisson_release, &all.redisson_renew};
        const std::vector<const script*> in_line{&all.redisson_fair_claim, &all.redisson_fair_release,
                                                 &all.redisson_renew};
        for (const script* one : fair ? in_line : plain)
            for (std::sregex_iterator it{one->source.begin(), one->source.end(), calls}, end; it != end; ++it)
                called.insert((*it)[1]);
        std::set<std::string> asked;
        for (const right& one : rights_of_scripts(config))
            asked.insert(one.sample.front() == "publish"     ? "PUBLISH"
                         : one.sample.front() == "subscribe" ? "SUBSCRIBE"
                                                             : one.sample.front());
        if (fair) {  // in what they share with the others, and do not come to
            called.erase("HGET");
            called.erase("HDEL");
        }
        EXPECT_EQ(asked, called);
    }
}

TEST(redis_acl, a_cluster_and_a_database_need_more) {
    settings config;
    EXPECT_THAT(acl_rules(config), AllOf(Not(HasSubstr("+cluster")), Not(HasSubstr("+select"))));
    config.database = 2;
    EXPECT_THAT(acl_rules(config), HasSubstr(" +select"));
    config.database = 0;
    config.shape = settings::topology::cluster;
    EXPECT_THAT(acl_rules(config), AllOf(HasSubstr(" +cluster|slots"), HasSubstr(" +asking")));
}

}  // namespace
}  // namespace mortise::stores::redis
