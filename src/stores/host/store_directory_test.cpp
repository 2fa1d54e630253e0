// Directories that can be used, and what is said of those that cannot.
#include "support/host_suite.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

namespace mortise::inline v0::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_place : public host_suite {};

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(host_place, says_what_is_wrong_with_it) {
    ::chmod(scratch_.path().c_str(), 0755);
    std::filesystem::create_directory(directory_);
    const std::string note = scratch_ / "note";

    ::chmod(directory_.c_str(), 0300);
    EXPECT_THAT(complaint_to_nobody(url_, note), AllOf(HasSubstr(directory_), HasSubstr("Permission denied")));
    ::chmod(directory_.c_str(), 0555);
    EXPECT_THAT(complaint_to_nobody(url_, note), AllOf(HasSubstr(directory_), HasSubstr("Permission denied")));
    EXPECT_THAT(complaint_to_nobody(url_ + "/new", note), AllOf(HasSubstr("cannot make it"), HasSubstr("denied")));
    EXPECT_TRUE(std::filesystem::is_empty(directory_));

    std::ofstream{scratch_ / "file"} << "mine";
    EXPECT_THAT(complaint("host:" + (scratch_ / "file")), HasSubstr("Not a directory"));
    EXPECT_THAT(complaint("host:" + (scratch_ / "a/b/c")), HasSubstr("No such file"));
    EXPECT_THAT(complaint("host:/proc"), HasSubstr("/proc"));
    EXPECT_THAT(complaint("host:/sys"), HasSubstr("/sys"));
    EXPECT_THAT(complaint("host:/dev/null"), HasSubstr("Not a directory"));
}

TEST_F(host_place, that_is_read_only_is_said_to_be_and_loses_nothing) {
    std::filesystem::create_directory(directory_);
    child tester{[&] {
        if (::unshare(CLONE_NEWNS) != 0) return 77;
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
        if (::mount("none", directory_.c_str(), "tmpfs", 0, nullptr) != 0) return 77;
        const auto change = [&](unsigned long how) {
            return ::mount("none", directory_.c_str(), "tmpfs", MS_REMOUNT | how, nullptr) == 0;
        };
        if (!change(MS_RDONLY)) return 1;
        if (complaint(url_).find("Read-only file system") == std::string::npos) return 2;
        if (!change(0)) return 3;
        const std::uint64_t before = token_of_another();
        const std::string bytes = bytes_of(directory_ + "/locks");
        if (!change(MS_RDONLY)) return 4;
        if (complaint(url_).find("Read-only file system") == std::string::npos) return 5;
        if (bytes_of(directory_ + "/locks") != bytes) return 6;
        if (!change(0)) return 7;
        return token_of_another() > before ? 0 : 8;
    }};
    const int status = tester.wait(60s);
    if (status == 77) GTEST_SKIP() << "cannot mount anything here";
    EXPECT_EQ(status, 0);
}

// The ledger's own tests have more of these; here is what a client says.
TEST_F(host_place, with_a_file_of_somebody_else_is_left_as_it_is) {
    const auto whole = [&] {
        static_cast<void>(token_of_another());
        return bytes_of(directory_ + "/locks");
    }();
    std::string newer = whole;
    newer[24] = 99;
    const std::pair<std::string, std::string> spoiled[] = {
        {whole.substr(0, 5000), "cut short"}, {"my own notes\n", "not a file of Mortise"}, {newer, "has format 99"}};
    for (const auto& [bytes, words] : spoiled) {
        std::ofstream{directory_ + "/locks", std::ios::binary} << bytes;
        EXPECT_THAT(complaint(url_), AllOf(HasSubstr(directory_), HasSubstr(words)));
        EXPECT_TRUE(bytes_of(directory_ + "/locks") == bytes) << words << ": the file was changed";
    }
    std::ofstream{directory_ + "/locks", std::ios::binary} << whole;
    EXPECT_EQ(complaint(url_), "none");
}

// The place of "host:" for a user of the process's own, so that the real one and other tests are left alone.
class default_place : public ::testing::Test {
protected:
    const uid_t somebody = 4'000'000 + static_cast<uid_t>(::getpid());
    const std::string directory_ = "/var/tmp/mortise-" + std::to_string(somebody);

    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
        if (std::filesystem::exists(std::filesystem::symlink_status(directory_)))
            GTEST_SKIP() << directory_ << " is there already";
        ours_ = true;
    }
    void TearDown() override {
        std::error_code ignored;
        if (ours_) std::filesystem::remove_all(directory_, ignored);
    }

    // In the shoes of that user, with a given environment.
    int as_somebody(const std::function<int()>& work) {
        return child{[&] { return ::setgid(somebody) != 0 || ::setuid(somebody) != 0 ? 98 : work(); }}.wait();
    }

private:
    bool ours_ = false;
};

TEST_F(default_place, is_the_same_in_every_environment_and_private) {
    milestone ready;
    child login{[&] {
        if (::setgid(somebody) != 0 || ::setuid(somebody) != 0) return 98;
        ::setenv("HOME", "/tmp", 1);
        ::setenv("XDG_RUNTIME_DIR", "/tmp", 1);
        ::setenv("TMPDIR", "/dev/shm", 1);
        ::umask(0);
        client locks{"host:"};
        const hold mine = locks.acquire("x");
        ready.reach();
        ::pause();
        return 0;
    }};
    ready.await();
    EXPECT_EQ(0, as_somebody([&] {
                  ::clearenv();
                  ::umask(077);
                  if (::chdir("/") != 0) return 1;
                  client locks{"host:"};
                  return locks.try_acquire("x").reason() == errc::busy ? 0 : 2;
              }));
    struct stat is {};
    ASSERT_EQ(::stat(directory_.c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777, 0700u);
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
        ASSERT_EQ(::stat(file.path().c_str(), &is), 0);
        EXPECT_EQ(is.st_mode & 0777, 0600u) << file;
        EXPECT_EQ(is.st_uid, somebody);
    }
}

TEST_F(default_place, is_refused_when_others_could_have_a_hand_in_it) {
    const auto said = [&](const std::string& words) {
        return as_somebody([&] { return complaint("host:").find(words) != std::string::npos ? 0 : 1; });
    };
    scratch_directory elsewhere;
    ASSERT_EQ(::chown(elsewhere.path().c_str(), somebody, somebody), 0);
    std::filesystem::create_symlink(elsewhere.path(), directory_);
    ASSERT_EQ(::lchown(directory_.c_str(), somebody, somebody), 0);
    EXPECT_EQ(said("cannot open it"), 0) << "a link";
    EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
    std::filesystem::remove(directory_);

    std::filesystem::create_directory(directory_);
    ::chmod(directory_.c_str(), 0755);
    EXPECT_EQ(said("belongs to another user"), 0);
    ASSERT_EQ(::chown(directory_.c_str(), somebody, somebody), 0);
    ::chmod(directory_.c_str(), 0770);
    EXPECT_EQ(said("chmod 700"), 0) << "others may write";
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
    ::chmod(directory_.c_str(), 0700);
    EXPECT_EQ(said("none"), 0);
}

}  // namespace
}  // namespace mortise::inline v0::stores::host
