#include "stores/host/fixture.hpp"
#include "stores/host/ledger.hpp"
#include "support/children.hpp"
#include "support/memory_use.hpp"

#include <mortise/mutex.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;
using mortise::testing::scratch_directory;

constexpr uid_t nobody = 65534;

pid_t first_child_of(pid_t parent) {
    const std::string number = std::to_string(parent);
    pid_t found = 0;
    std::ifstream{"/proc/" + number + "/task/" + number + "/children"} >> found;
    return found;
}

class host_store : public ::testing::Test {
protected:
    // Another process that holds "x" until it is killed.
    child holder(const claim_options& options = {}) {
        milestone ready;
        child made{[&] {
            client locks{url_};
            const hold mine = locks.acquire("x", options);
            ready.reach(mine.valid() ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        EXPECT_EQ(ready.await(), 'y');
        return made;
    }

    // A token of "x", taken by a new process.
    std::uint64_t token_of_another() {
        const std::string file = scratch_ / "token";
        child taker{[&] {
            client locks{url_};
            std::ofstream{file} << locks.acquire("x", {.wait = 20s}).token().value();
            return 0;
        }};
        EXPECT_EQ(taker.wait(), 0);
        std::uint64_t value = 0;
        std::ifstream{file} >> value;
        return value;
    }

    scratch_directory scratch_;
    std::string directory_ = scratch_ / "store";
    std::string url_ = "host:" + directory_;
};

// --- who holds, and for how long --------------------------------------------------------------------------------------

TEST_F(host_store, a_killed_holder_frees_its_lock) {
    child other = holder();
    client locks{url_};
    const attempt refused = locks.try_acquire("x");
    ASSERT_EQ(refused.reason(), errc::busy);
    EXPECT_EQ(refused.refusal().holder.value().pid, other.pid());
    other.kill();
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_store, a_waiter_is_served_when_the_holder_is_killed) {
    child other = holder();
    client locks{url_};
    std::atomic<bool> got{false};
    std::thread waiter{[&] { got = static_cast<bool>(locks.acquire("x", {.wait = 20s})); }};
    std::this_thread::sleep_for(30ms);
    EXPECT_FALSE(got);
    other.kill();
    waiter.join();
    EXPECT_TRUE(got);
}

TEST_F(host_store, a_killed_waiter_leaves_the_queue) {
    client locks{url_};
    client onlooker{url_};
    hold mine = locks.acquire("x");
    child waiter{[&] {
        client own{url_};
        static_cast<void>(own.acquire("x"));
        return 0;
    }};
    ASSERT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == 2u; }));
    waiter.kill();
    EXPECT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == 1u; }))
        << onlooker.try_acquire("x").refusal().describe();
    mine.release();
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_store, a_hold_lasts_while_its_process_does_unless_a_lease_is_asked_for) {
    client locks{url_};
    const hold plain = locks.acquire("plain");
    EXPECT_EQ(plain.valid_until(), boot_clock::time_point::max());
    EXPECT_EQ(plain.remaining(), std::chrono::nanoseconds::max());
    const hold leased = locks.acquire("leased", {.lease = 10s});
    EXPECT_LE(leased.valid_until(), boot_clock::now() + 10s);
    client sparing{url_, {.lease = 5s}};
    EXPECT_LE(sparing.acquire("by the client").valid_until(), boot_clock::now() + 5s);
}

TEST_F(host_store, a_stopped_holder_still_holds_without_a_lease) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x");
        ::raise(SIGSTOP);
        return mine.valid() ? 0 : 1;
    }};
    ASSERT_TRUE(other.stopped());
    client locks{url_};
    EXPECT_EQ(locks.try_acquire("x", {.wait = 300ms}).reason(), errc::timed_out);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_store, a_stopped_holder_with_a_lease_learns_on_waking_that_it_is_over) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x", {.lease = 200ms});
        if (!mine.valid()) return 1;
        ::raise(SIGSTOP);
        return mine.valid() ? 2 : 0;
    }};
    ASSERT_TRUE(other.stopped());
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    EXPECT_TRUE(got);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_store, a_detached_claim_outlives_its_process_and_ends_with_its_lease) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x", {.lease = 1500ms, .kept_by = kept_by::lease});
        return mine.valid() ? 0 : 1;
    }};
    ASSERT_EQ(other.wait(), 0);
    client locks{url_};
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_store, a_detached_claim_is_released_by_another_process_that_knows_its_id) {
    client locks{url_};
    claim_id secret;
    {
        const hold mine = locks.acquire("x", {.lease = 1h, .kept_by = kept_by::lease});
        secret = mine.id();
    }
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    child other{[&] {
        client own{url_};
        std::error_code ec;
        return own.release("x", secret, ec) == release_result::released ? 0 : 1;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_store, two_clients_on_one_directory_exclude_each_other_in_one_process) {
    client one{url_};
    client other{url_ + "/"};
    hold mine = one.acquire("x");
    EXPECT_EQ(other.try_acquire("x").reason(), errc::busy);
    std::atomic<bool> got{false};
    std::thread waiter{[&] { got = static_cast<bool>(other.acquire("x", {.wait = 20s})); }};
    mine.release();
    waiter.join();
    EXPECT_TRUE(got);
    {
        client third{url_};
        EXPECT_TRUE(third.try_acquire("y"));
    }
    // The third one's leaving has cost nobody the seat.
    mine = one.acquire("x");
    child stranger{[&] {
        client own{url_};
        return own.try_acquire("x").reason() == errc::busy ? 0 : 1;
    }};
    EXPECT_EQ(stranger.wait(), 0);
}

TEST_F(host_store, a_child_of_a_holder_makes_a_client_of_its_own) {
    client locks{url_};
    const hold mine = locks.acquire("x");
    child heir{[&] {
        client own{url_};
        if (own.try_acquire("x").reason() != errc::busy) return 1;
        static_cast<void>(own.acquire("y"));
        const hold kept = own.acquire("z");
        ::_exit(kept.valid() ? 0 : 2);
    }};
    EXPECT_EQ(heir.wait(), 0);
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(locks.try_acquire("z")) << "the child's hold went with the child, though its parent lives";
    child stranger{[&] {
        client own{url_};
        return own.try_acquire("x").reason() == errc::busy ? 0 : 1;
    }};
    EXPECT_EQ(stranger.wait(), 0);
}

TEST_F(host_store, a_process_stopped_inside_the_store_is_named_and_all_goes_on_after_it) {
    child culprit{[&] {
        const auto kept = ledger::open({directory_, true});
        ledger::access in{*kept};
        ::raise(SIGSTOP);
        return 0;
    }};
    ASSERT_TRUE(culprit.stopped());
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_NE(got.refusal().describe().find("pid " + std::to_string(culprit.pid())), std::string::npos)
        << got.refusal().describe();
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_store, processes_in_different_pid_namespaces_exclude_each_other) {
    client locks{url_};
    hold mine = locks.acquire("x");
    milestone asked;
    milestone granted;
    // The first process of a new namespace, where it is number 1; its parent only waits for it.
    child other{[&] {
        if (::unshare(CLONE_NEWPID) != 0) {
            asked.reach('s');
            return 0;
        }
        child inner{[&] {
            client own{url_};
            asked.reach(own.try_acquire("x").reason() == errc::busy ? 'y' : 'n');
            const hold its = own.acquire("x", {.wait = 20s});
            granted.reach(its.valid() ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        return inner.wait(60s);
    }};
    const char busy = asked.await();
    if (busy == 's') GTEST_SKIP() << "cannot make a pid namespace";
    EXPECT_EQ(busy, 'y');
    mine.release();
    ASSERT_EQ(granted.await(), 'y');
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    ::kill(first_child_of(other.pid()), SIGKILL);
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_store, a_process_of_another_pid_namespace_that_is_stopped_inside_is_told_of) {
    milestone inside;
    child other{[&] {
        if (::unshare(CLONE_NEWPID) != 0) {
            inside.reach('s');
            return 0;
        }
        child inner{[&] {
            const auto kept = ledger::open({directory_, true});
            ledger::access in{*kept};
            inside.reach('y');
            ::pause();
            return 0;
        }};
        return inner.wait(60s);
    }};
    if (inside.await() == 's') GTEST_SKIP() << "cannot make a pid namespace";
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    ASSERT_FALSE(got);
    EXPECT_THAT(got.refusal().describe(), ::testing::HasSubstr("a process of another pid namespace"));
    ::kill(first_child_of(other.pid()), SIGKILL);
    other.wait();  // until it is gone
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

// Thousands of names that come and go leave nothing behind, in the file as in the client.
TEST_F(host_store, a_stream_of_names_is_forgotten_when_the_client_leaves) {
    {
        client locks{url_};
        for (int n = 0; n < 3000; ++n) ASSERT_TRUE(locks.try_acquire("name " + std::to_string(n)));
    }
    EXPECT_EQ(ledger::open({directory_, true})->blocks_in_use(), 0u);
}

TEST_F(host_store, a_name_that_is_used_all_the_time_costs_the_client_no_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer brings its own malloc";
#endif
    client locks{url_};
    const auto use = [&](int times) {
        for (int n = 0; n < times; ++n) static_cast<void>(locks.try_acquire("a name that is not a short one"));
    };
    use(100);
    const std::size_t before = mortise::testing::heap_bytes();
    use(20'000);
    EXPECT_LT(mortise::testing::heap_bytes(), before + 100'000);
}

TEST_F(host_store, what_a_killed_process_left_is_swept_by_the_next_that_comes) {
    child untidy{[&] {
        client locks{url_};
        client more{url_};
        std::vector<hold> held;
        for (int n = 0; n < 300; ++n) held.push_back(locks.acquire("name " + std::to_string(n)));
        held.push_back(more.acquire("another"));
        ::raise(SIGKILL);
        return 0;
    }};
    ASSERT_EQ(untidy.wait(), -SIGKILL);
    { EXPECT_TRUE(client{url_}.try_acquire("x")); }
    EXPECT_EQ(ledger::open({directory_, true})->blocks_in_use(), 0u);
    for (const auto& file : std::filesystem::directory_iterator(directory_))
        EXPECT_FALSE(file.path().filename().string().starts_with("bell-")) << file.path().filename();
}

TEST_F(host_store, want_of_descriptors_is_an_error_and_passes) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizer looks at memory through a pipe, and here there are no descriptors for one";
#endif
    child poor{[&] {
        client locks{url_};
        const hold first = locks.acquire("first");
        const rlimit few{3, 3};
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        ::setrlimit(RLIMIT_NOFILE, &few);
        if (!locks.try_acquire("second")) return 1;  // needs none
        client late{url_};
        const attempt got = late.try_acquire("first");
        return !got && got.reason() == errc::exhausted && first.valid() ? 0 : 2;
    }};
    EXPECT_EQ(poor.wait(), 0);
}

// --- tokens -----------------------------------------------------------------------------------------------------------

// Not if the directory is wiped *and* the clock is set back: with both memories gone nothing is left to rise from.
TEST_F(host_store, tokens_rise_over_restarts_and_wiped_directories) {
    const bool wipe = std::getenv("MORTISE_TEST_WALL") == nullptr;
    std::uint64_t last = 0;
    for (int n = 0; n < 6; ++n) {
        if (wipe && n % 2 == 1) std::filesystem::remove_all(directory_);
        const std::uint64_t next = token_of_another();
        EXPECT_GT(next, last);
        last = next;
    }
}

// As if it had been granted while the wall clock was a century ahead.
TEST_F(host_store, tokens_rise_also_if_the_wall_clock_is_set_back) {
    const std::uint64_t first = token_of_another();
    const std::uint64_t ahead = token{first}.counter() + 3'000'000'000'000'000u;
    child future{[&] {
        const auto kept = ledger::open({directory_, true});
        ledger::access{*kept}.raise_counter(ahead);
        return 0;
    }};
    ASSERT_EQ(future.wait(), 0);
    const std::uint64_t second = token_of_another();
    EXPECT_GT(token{second}.counter(), ahead);
    EXPECT_GT(token_of_another(), second);
}

// --- places -----------------------------------------------------------------------------------------------------------

// What a client says about a directory it cannot use.
std::string complaint(const std::string& url) {
    client locks{url};
    const attempt got = locks.try_acquire("x", {.wait = 5s});
    if (got) return "none";
    return got.reason() == errc::unreachable || got.reason() == errc::exhausted
               ? got.refusal().describe()
               : "wrong code: " + got.reason().message();
}

// The same as seen by a process without privileges: root is not stopped by modes.
std::string complaint_to_nobody(const std::string& url, const std::string& note) {
    std::ofstream{note} << "";
    ::chmod(note.c_str(), 0666);
    child other{[&] {
        if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) return 1;
        std::ofstream{note} << complaint(url);
        return 0;
    }};
    EXPECT_EQ(other.wait(), 0);
    std::ifstream in{note};
    return {std::istreambuf_iterator<char>(in), {}};
}

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(host_store, says_what_is_wrong_with_a_directory) {
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

TEST_F(host_store, says_that_the_disk_is_full_and_works_once_it_is_not) {
    std::filesystem::create_directory(directory_);
    if (::mount("none", directory_.c_str(), "tmpfs", 0, "size=1m") != 0)
        GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
    {
        std::ofstream ballast{directory_ + "/ballast"};
        ballast << std::string(900'000, 'x') << std::flush;
    }
    child tester{[&] {
        if (complaint(url_).find("No space left") == std::string::npos) return 1;
        std::filesystem::remove(directory_ + "/ballast");
        if (complaint(url_) != "none") return 2;

        // Now let it run full while it grows: what is held stays held, and nothing that was refused is in the way.
        client locks{url_};
        std::vector<hold> held;
        while (held.size() < 10'000) {
            attempt got = locks.try_acquire("name " + std::to_string(held.size()));
            if (!got) {
                if (got.reason() != errc::exhausted) return 3;
                break;
            }
            held.push_back(*std::move(got));
        }
        if (held.size() < 100 || held.size() == 10'000) return 4;
        for (const hold& one : held)
            if (!one.valid()) return 5;
        client other{url_};
        if (other.try_acquire("name 0").reason() != errc::busy) return 6;
        for (hold& one : held)
            if (one.release() != release_result::released) return 7;
        return ledger::access{*ledger::open({directory_, true})}.problem().empty() ? 0 : 8;
    }};
    EXPECT_EQ(tester.wait(), 0);
    ::umount2(directory_.c_str(), MNT_DETACH);
}

TEST_F(host_store, two_users_meet_in_a_directory_that_both_may_write) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become two users";
    ::chmod(scratch_.path().c_str(), 0755);
    for (const mode_t mode : {0777, 01777}) {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directory(directory_);
        ::chmod(directory_.c_str(), mode);
        client locks{url_};
        hold mine = locks.acquire("x");
        milestone asked;
        child other{[&] {
            if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return 1;
            client own{url_};
            if (own.try_acquire("x").reason() != errc::busy) return 2;
            asked.reach();
            const hold its = own.acquire("x", {.wait = 20s});
            ::raise(SIGKILL);
            return 3;
        }};
        asked.await();
        mine.release();
        EXPECT_EQ(other.wait(), -SIGKILL) << std::oct << mode;
        const attempt again = locks.try_acquire("x", {.wait = 20s});
        EXPECT_TRUE(again) << again.refusal().describe();
    }
}

// The place of "host:" for a user of the test's own, so that the real one is left alone.
class default_place : public ::testing::Test {
protected:
    static constexpr uid_t somebody = 4242424;
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
    for (const char* file : {"locks"}) {
        ASSERT_EQ(::stat((directory_ + "/" + file).c_str(), &is), 0);
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
}  // namespace mortise::stores::host
