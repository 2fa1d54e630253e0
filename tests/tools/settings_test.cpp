#include "tools/mortise/settings.hpp"

#include "support/children.hpp"
#include "tools/mortise/failure.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace command {
namespace {

using mortise::testing::child;
using mortise::testing::scratch_directory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<option> settings_options{
    {0, "store", "URL"}, {0, "store-file", "FILE"}, {0, "require-store"}, {0, "patience", "T"}, {'n', "nonblock"},
    {0, "json"},         {'v', "verbose"},
};

class settings_of_the_command : public ::testing::Test {
protected:
    settings read(const std::vector<std::string>& line = {}) {
        return read_settings(command::read(settings_options, {}, line), [this](const char* name) {
            const auto found = variables_.find(name);
            return found == variables_.end() ? nullptr : found->second.c_str();
        });
    }
    std::string complaint(exit_code code, const std::vector<std::string>& line = {}) {
        try {
            read(line);
        } catch (const failure& e) {
            EXPECT_EQ(e.code(), code);
            return e.what();
        }
        return "none";
    }
    std::string file(const std::string& name, const std::string& text) {
        std::ofstream{scratch_ / name} << text;
        return scratch_ / name;
    }

    scratch_directory scratch_;
    std::map<std::string, std::string, std::less<>> variables_{{"XDG_CONFIG_HOME", scratch_.path()}};
};

TEST_F(settings_of_the_command, options_beat_the_environment_which_beats_files) {
    EXPECT_EQ(read().store, "host:");
    file("mortise.conf", "# ours\n\n store = memory:file \nlabel = night shift\n");
    EXPECT_EQ(read().store, "memory:file");
    EXPECT_EQ(read().label, "night shift");
    variables_["MORTISE_STORE"] = "memory:environment";
    EXPECT_EQ(read().store, "memory:environment");
    EXPECT_EQ(read({"--store", "memory:option"}).store, "memory:option");
    EXPECT_EQ(read({"--store-file", file("url", "memory:its-file\n")}).store, "memory:its-file");
    variables_.erase("MORTISE_STORE");
    variables_["MORTISE_CONFIG"] = file("other.conf", "store=memory:other");
    EXPECT_EQ(read().store, "memory:other");
    EXPECT_EQ(read().label, std::nullopt) << "MORTISE_CONFIG names the only file";
}

TEST_F(settings_of_the_command, say_who_named_the_store) {
    EXPECT_EQ(read().store_from, "");
    file("mortise.conf", "store = memory:file\n");
    EXPECT_EQ(read().store_from, "'" + scratch_ / "mortise.conf'");
    variables_["MORTISE_STORE"] = "memory:environment";
    EXPECT_EQ(read().store_from, "MORTISE_STORE");
    EXPECT_EQ(read({"--store", "memory:option"}).store_from, "--store");
    EXPECT_EQ(read({"--store-file", file("url", "memory:")}).store_from, "--store-file '" + scratch_ / "url'");
}

TEST_F(settings_of_the_command, a_store_whose_name_got_lost_is_not_host) {
    variables_["MORTISE_STORE"] = "";
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("MORTISE_STORE is set but empty"));
    EXPECT_EQ(read({"--store", "memory:option"}).store, "memory:option") << "it does not matter there";
    variables_.erase("MORTISE_STORE");
    variables_["MORTISE_CONFIG"] = "";
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("MORTISE_CONFIG is set but empty"));
    variables_.erase("MORTISE_CONFIG");
    std::filesystem::create_symlink(scratch_ / "moved.conf", scratch_ / "mortise.conf");
    EXPECT_THAT(complaint(exit_code::configuration),
                AllOf(HasSubstr("mortise.conf'"), HasSubstr("is a link to"), HasSubstr("moved.conf', which does not")));
    variables_["MORTISE_STORE"] = "memory:environment";
    EXPECT_EQ(read().store, "memory:environment") << "something stronger says which store";
}

TEST_F(settings_of_the_command, a_store_can_be_required) {
    EXPECT_EQ(read().store, "host:");
    EXPECT_THAT(complaint(exit_code::configuration, {"--require-store"}),
                AllOf(HasSubstr("--require-store"), HasSubstr("MORTISE_STORE")));
    file("mortise.conf", "require_store = yes\n");
    EXPECT_THAT(complaint(exit_code::configuration),
                AllOf(HasSubstr("mortise.conf' says require_store = yes"), HasSubstr("set MORTISE_STORE")));
    EXPECT_EQ(read({"--store", "host:"}).store, "host:") << "somebody named it";
    variables_["MORTISE_STORE"] = "memory:environment";
    EXPECT_EQ(read({"--require-store"}).store, "memory:environment");
    variables_.erase("MORTISE_STORE");
    file("mortise.conf", "require_store = yes\nstore = memory:file\n");
    EXPECT_EQ(read({"--require-store"}).store, "memory:file");
    file("mortise.conf", "require_store = no\n");
    EXPECT_EQ(read().store, "host:");
    file("mortise.conf", "require_store = perhaps\n");
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("line 1: require_store must be yes or no"));
}

TEST_F(settings_of_the_command, an_address_is_short) {
    EXPECT_THAT(complaint(exit_code::configuration, {"--store-file", "/dev/zero"}),
                HasSubstr("'/dev/zero' is longer than 4 KiB"));
    EXPECT_THAT(complaint(exit_code::configuration, {"--store-file", file("long", std::string(5000, 'x'))}),
                HasSubstr("is longer than 4 KiB"));
    variables_["MORTISE_CONFIG"] = "/dev/zero";
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("'/dev/zero' is longer than 64 KiB"));
}

// It may be the file with the password that was meant for another option.
TEST_F(settings_of_the_command, what_is_no_address_in_a_file_is_not_shown) {
    for (const char* text : {"hunter2secret\n", "p:hunter2secret\n", "", "redis://a\nhunter2secret\n"}) {
        const std::string said = complaint(exit_code::configuration, {"--store-file", file("pw", text)});
        EXPECT_THAT(said, HasSubstr("(--store-file)")) << text;
        EXPECT_THAT(said, ::testing::Not(HasSubstr("hunter"))) << text;
    }
    const std::string pipe = file("pipe", "");
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(complaint(exit_code::configuration, {"--store-file", pipe}), HasSubstr("is empty"));
}

TEST_F(settings_of_the_command, a_comment_is_no_part_of_an_address) {
    variables_["MORTISE_CONFIG"] = file("conf", "store = host:/tmp/h # the office\n").c_str();
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("line 1: a comment must be on its own line"));
    variables_["MORTISE_CONFIG"] = file("conf", "store =\n").c_str();
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("line 1: store is empty"));
}

TEST_F(settings_of_the_command, patience_is_a_time_and_a_try_has_none) {
    EXPECT_EQ(read().patience, std::nullopt);
    EXPECT_EQ(read({"--patience", "2s"}).patience, std::chrono::seconds{2});
    EXPECT_THAT(complaint(exit_code::usage, {"--patience", "long"}), HasSubstr("--patience 'long' is no time"));
    EXPECT_FALSE(read().tries_once);
    EXPECT_TRUE(read({"-n"}).tries_once);
}

TEST_F(settings_of_the_command, a_password_comes_from_a_file) {
    file("mortise.conf", "store = redis://ann@db:6379/0\npassword_file = " + file("secret", "p@ss/1\n") + "\n");
    EXPECT_EQ(read().store, "redis://ann:p%40ss%2F1@db:6379/0");
    EXPECT_EQ(with_password("redis://db", "x"), "redis://:x@db");
    EXPECT_EQ(with_password("redis://db/a@b", "x"), "redis://:x@db/a@b");
}

TEST_F(settings_of_the_command, a_password_on_the_command_line_is_refused) {
    EXPECT_THAT(complaint(exit_code::usage, {"--store", "redis://ann:CANARY@db"}),
                AllOf(HasSubstr("MORTISE_STORE"), HasSubstr("--store-file"), Not(HasSubstr("CANARY"))));
    for (const char* url :
         {"redis://:x@db", "redis://a:b@c:1/0", "redis:a:b@c", "redis://db?password=x", "etcd://db?auth_token=x",
          "mysql://db?PWD=x", "redis://db?tls=1&password=x", "redis://db?password_file=/f&password=x"})
        EXPECT_TRUE(holds_secret(url)) << url;
    for (const char* url :
         {"host:", "host:/a:b@c", "redis://db:6379", "redis://ann@db:6379", "memory:x", "", ":", "a", "redis://db?",
          "redis://db?password_file=/f", "etcds://db?ca=/run/secrets/ca.crt", "etcd://db?prefix=auth-service&lease=3s"})
        EXPECT_FALSE(holds_secret(url)) << url;
}

TEST_F(settings_of_the_command, what_is_wrong_with_a_file_is_said_with_its_place) {
    file("mortise.conf", "store = memory:\nCANARY\n");
    EXPECT_THAT(complaint(exit_code::configuration),
                AllOf(HasSubstr("mortise.conf', line 2"), HasSubstr("key = value"), Not(HasSubstr("CANARY"))));
    file("mortise.conf", "stroe = CANARY\n");
    EXPECT_THAT(complaint(exit_code::configuration), AllOf(HasSubstr("line 1"), Not(HasSubstr("CANARY"))));
    file("mortise.conf", "store = a:\nstore = b:\n");
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("is given twice"));
    file("mortise.conf", "password_file = x\n");
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("no store"));
    file("mortise.conf", "store = redis://db\npassword_file = " + scratch_ / "none");
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("does not exist"));
    variables_["MORTISE_CONFIG"] = scratch_ / "none";
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("MORTISE_CONFIG names"));
    variables_["MORTISE_CONFIG"] = scratch_.path();
    EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("directory"));
    EXPECT_THAT(complaint(exit_code::usage, {"--store", "a:", "--store-file", "b"}), HasSubstr("cannot be combined"));
}

// As another user, with the HOME of root.
TEST_F(settings_of_the_command, a_file_that_may_not_be_read_is_no_matter_where_the_store_is_known) {
    std::filesystem::permissions(file("mortise.conf", "nonsense\n"), std::filesystem::perms::none);
    child other{[this] {
        if (::geteuid() == 0 && ::seteuid(65534) != 0) return 2;
        EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("Permission denied"));
        EXPECT_EQ(read({"--store", "memory:option"}).store, "memory:option");
        variables_["MORTISE_STORE"] = "memory:environment";
        EXPECT_EQ(read().store, "memory:environment");
        variables_["MORTISE_CONFIG"] = scratch_ / "mortise.conf";
        EXPECT_THAT(complaint(exit_code::configuration), HasSubstr("Permission denied")) << "it was asked for";
        return HasFailure() ? 1 : 0;
    }};
    EXPECT_EQ(other.wait(), 0);
    std::filesystem::permissions(scratch_ / "mortise.conf", std::filesystem::perms::owner_all);
    EXPECT_THAT(complaint(exit_code::configuration, {"--store", "memory:option"}), HasSubstr("key = value"))
        << "what can be read and is wrong is said";
}

}  // namespace
}  // namespace command
