// The stories, played by the program as people start it.
#include "stores/redis/servers/server.hpp"
#include "stores/redis/servers/starting.hpp"
#include "support/children.hpp"
#include "support/loopback.hpp"
#include "support/server_group.hpp"
#include "support/waiting.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace redis = mortise::stores::redis::servers;

struct outcome {
    int code = -1;
    std::string out{};
};

// The program with these arguments. `meanwhile` is told its process.
template <class Meanwhile>
outcome played(std::vector<std::string> arguments, Meanwhile meanwhile) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        std::string program = MORTISE_LAB;
        std::vector<char*> line{program.data()};
        for (std::string& each : arguments) line.push_back(each.data());
        line.push_back(nullptr);
        ::execv(line[0], line.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    outcome got;
    {
        std::jthread beside([&](const std::stop_token& over) { meanwhile(pid, over); });
        std::array<char, 4096> room{};
        for (ssize_t size = 0; (size = ::read(ends[0], room.data(), room.size())) > 0;)
            got.out.append(room.data(), static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    got.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return got;
}

outcome played(std::vector<std::string> arguments) {
    return played(std::move(arguments), [](pid_t, const std::stop_token&) {});
}

std::vector<pid_t> actors_of(pid_t program) {
    std::ifstream list{"/proc/" + std::to_string(program) + "/task/" + std::to_string(program) + "/children"};
    std::vector<pid_t> all;
    for (pid_t each = 0; list >> each;) {
        std::error_code gone;
        const auto runs = std::filesystem::read_symlink("/proc/" + std::to_string(each) + "/exe", gone);
        if (!gone && runs == std::filesystem::path{MORTISE_LAB}) all.push_back(each);
    }
    return all;
}

// All stories, with nothing in their way. Played once.
const outcome& calm() {
    static const outcome made = played({"run", "--all"});
    return made;
}

TEST(lab, every_story_goes_as_it_is_told) {
    EXPECT_EQ(calm().code, 0) << calm().out;
    for (std::uint64_t again = 1; again < mortise::testing::scale(1); ++again)
        EXPECT_EQ(played({"run", "--all"}).out, calm().out);
}

// Whoever is stopped goes on where it was: no story depends on how fast anybody is.
TEST(lab, actors_that_are_stopped_at_random_change_nothing) {
    std::atomic<int> stops = 0;
    const auto stop_some = [&](pid_t program, const std::stop_token& over) {
        std::mt19937 dice{7};
        while (!over.stop_requested() && stops < 300) {
            for (const pid_t each : actors_of(program)) {
                if (dice() % 2 == 0 || ::kill(each, SIGSTOP) != 0) continue;
                ++stops;
                std::this_thread::sleep_for(std::chrono::milliseconds{dice() % 4});
                ::kill(each, SIGCONT);
            }
        }
    };
    EXPECT_EQ(played({"run", "--all"}, stop_some).out, calm().out);
    EXPECT_GT(stops, 20);
}

// A story whose broken lock is replaced by one that holds must say so: else it would pass whatever the lock did.
TEST(lab, a_story_notices_a_lock_that_holds) {
    const outcome got = played({"run", "--all", "--swap", "--json"});
    EXPECT_EQ(got.code, 1);
    std::istringstream lines{got.out};
    int stories = 0;
    for (std::string line; std::getline(lines, line); ++stories) {
        const bool shown_holding = line.find(R"("expected":"it holds")") != line.npos;
        EXPECT_NE(line.find(shown_holding ? R"("verdict":"ok")" : R"("verdict":"DIFFERENT")"), line.npos) << line;
    }
    EXPECT_GE(stories, 30);
}

// What two stories rest on.
TEST(lab, what_is_lost_is_lost_and_what_is_heard_is_heard) {
    const std::string dog = played({"run", "the-watchdog-that-dies"}).out;
    const std::size_t lost = dog.find("renew ticket → no answer");
    ASSERT_NE(lost, dog.npos) << dog;
    EXPECT_NE(dog.find("renew ticket → renewed", lost), dog.npos) << dog;
    const std::string herd = played({"run", "a-herd-at-the-gate"}).out;
    EXPECT_NE(herd.find("PUBLISH unlocked lock:ticket → 4"), herd.npos) << herd;
}

// On a machine that has Redis only.
TEST(lab, a_missing_server_is_named_and_the_others_are_played) {
    const mortise::testing::scratch_directory home;
    for (const char* program : {"redis-server", "env"})
        std::filesystem::create_symlink(std::filesystem::path{"/usr/bin"} / program, home / program);
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", std::string(home / "").c_str(), 1);
    const outcome got = played({"run", "no-lock", "the-row-stays", "the-leader-dies", "--json"});
    ::setenv("PATH", path.c_str(), 1);
    EXPECT_EQ(got.code, 69) << got.out;
    EXPECT_NE(got.out.find("apt-get install mariadb-server"), got.out.npos) << got.out;
    EXPECT_NE(got.out.find("apt-get install etcd-server"), got.out.npos) << got.out;
    EXPECT_NE(got.out.find(R"("verdict":"no server")"), got.out.npos) << got.out;
    EXPECT_NE(got.out.find(R"("verdict":"ok")"), got.out.npos) << got.out;
}

// As above, with a place in PATH that cannot be looked into.
class lab_without_servers : public ::testing::Test {
protected:
    lab_without_servers() { ::setenv("PATH", (home_.path() + ":/" + std::string(5000, 'x')).c_str(), 1); }
    ~lab_without_servers() override { ::setenv("PATH", path_.c_str(), 1); }

    const mortise::testing::scratch_directory home_{};

private:
    const std::string path_ = std::getenv("PATH");
};

TEST_F(lab_without_servers, what_was_not_played_is_not_drawn) {
    const outcome got = played({"run", "no-lock", "--html", home_ / "page.html", "--svg", home_ / "picture.svg"});
    EXPECT_EQ(got.code, 69) << got.out;
    EXPECT_NE(got.out.find("apt-get install redis-server"), got.out.npos) << got.out;
    EXPECT_TRUE(std::filesystem::is_empty(home_.path()));
}

// Nothing could be played here: all are refused before that.
TEST_F(lab_without_servers, places_that_will_not_do_are_refused_first) {
    const std::string file = home_ / "two.html";
    EXPECT_EQ(played({"run", "no-lock", "try-once", "--html", file}).code, 64);
    EXPECT_EQ(played({"run", "--all", "--svg", file}).code, 64);
    EXPECT_EQ(played({"run", "no-lock", "--svg", ""}).code, 64);
    EXPECT_EQ(played({"run", "no-lock", "--svg", "/dev/null/pictures/"}).code, 74);
    EXPECT_EQ(played({"run", "no-lock", "--html", home_ / "nowhere/page.html"}).code, 74);
    EXPECT_EQ(played({"run", "--all", "no-lock"}).code, 64);
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(lab, both_forms_have_a_picture_of_their_own) {
    const mortise::testing::scratch_directory home;
    EXPECT_EQ(played({"run", "no-lock", "--svg", home / "one.svg", "--html", home / "pages/"}).code, 0);
    for (const char* file : {"one.svg", "one-mended.svg", "pages/no-lock.html"})
        EXPECT_TRUE(std::filesystem::exists(home / file)) << file;
}

TEST(lab, an_answer_that_cannot_be_written_is_an_error) {
    const int status = std::system("'" MORTISE_LAB "' >/dev/full 2>/dev/null");
    EXPECT_EQ(WEXITSTATUS(status), 74);
}

// Somebody's own server, on the wall clock's time.
class lab_on_a_lent_redis : public ::testing::Test {
protected:
    static std::unique_ptr<redis::server> started(const mortise::testing::server_group& home) {
        std::unique_ptr<redis::server> made;
        mortise::testing::with_free_ports([&] {
            made = std::make_unique<redis::server>(
                home, redis::server::setup{.name = "theirs", .port = mortise::testing::free_port()});
            made->await_ready();
        });
        return made;
    }
    std::string store() const { return "redis://" + server_->address() + "/0"; }

    const mortise::testing::server_group home_{};
    const std::unique_ptr<redis::server> server_{started(home_)};
};

TEST_F(lab_on_a_lent_redis, stories_play_and_leave_nothing_behind) {
    const outcome got = played({"run", "no-lock", "return-before-the-lock", "try-once", "--store", store()});
    EXPECT_EQ(got.code, 0) << got.out;
    EXPECT_EQ(server_->command({"dbsize"}), "0");
}

TEST_F(lab_on_a_lent_redis, a_database_with_keys_needs_consent_and_keeps_them) {
    server_->command({"set", "ticket", "somebody's"});
    EXPECT_EQ(played({"run", "no-lock", "--store", store()}).code, 64);
    const outcome got = played({"run", "no-lock", "--store", store(), "--allow-non-empty"});
    EXPECT_EQ(got.code, 0) << got.out;
    EXPECT_EQ(server_->command({"dbsize"}), "1");
    EXPECT_EQ(server_->command({"get", "ticket"}), "somebody's");
}

TEST_F(lab_on_a_lent_redis, stories_that_need_more_are_refused_by_name) {
    const outcome got = played({"run", "the-master-dies", "redlock-and-a-clock-that-jumps", "the-row-stays", "no-lock",
                                "--json", "--store", store()});
    EXPECT_EQ(got.code, 69);
    for (const char* why : {"promotes its replica", "five servers", "needs MariaDB", R"("verdict":"ok")"})
        EXPECT_NE(got.out.find(why), got.out.npos) << got.out;
}

TEST_F(lab_on_a_lent_redis, an_interrupted_run_deletes_its_keys) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const auto interrupt = [&](pid_t program, const std::stop_token&) {
            EXPECT_TRUE(mortise::testing::eventually(
                [&] {
                    return server_->field({"info", "clients"}, "blocked_clients") == "1";
                },
                std::chrono::minutes{1}));
            EXPECT_NE(server_->command({"dbsize"}), "0");
            ::kill(program, signal);
        };
        const outcome got = played({"run", "work-outlives-lease", "--store", store()}, interrupt);
        EXPECT_EQ(got.code, 128 + signal) << got.out;
        EXPECT_EQ(server_->command({"dbsize"}), "0");
    }
}

TEST_F(lab_on_a_lent_redis, other_stores_are_refused) {
    for (const char* url : {"rediss://127.0.0.1", "etcd://127.0.0.1", "redis://", "redis://h:port", "redis://h?wait=1"})
        EXPECT_EQ(played({"run", "no-lock", "--store", url}).code, 64) << url;
}

TEST_F(lab_on_a_lent_redis, it_may_be_named_in_the_environment) {
    server_->command({"set", "ticket", "somebody's"});
    ::setenv("MORTISE_LAB_STORE", store().c_str(), 1);
    const outcome got = played({"run", "no-lock"});
    ::unsetenv("MORTISE_LAB_STORE");
    EXPECT_EQ(got.code, 64) << got.out;
}

// Something that listens.
struct stranger {
    const std::uint16_t port = mortise::testing::free_port();
    const mortise::testing::socket_handle listens = mortise::testing::listener_at(port);

    mortise::testing::socket_handle guest() const {
        return mortise::testing::socket_handle{::accept(listens.fd(), nullptr, nullptr)};
    }
    std::string store() const { return "redis://127.0.0.1:" + std::to_string(port); }
};

TEST(lab, a_server_that_is_silent_is_not_waited_for) {
    const stranger silent;
    EXPECT_EQ(played({"run", "no-lock", "--store", silent.store(), "--patience", "100ms"}).code, 69);
}

TEST(lab, waiting_for_a_server_can_be_interrupted) {
    const stranger silent;
    mortise::testing::socket_handle guest;
    const auto interrupt = [&](pid_t program, const std::stop_token&) {
        guest = silent.guest();
        ::kill(program, SIGINT);
    };
    EXPECT_EQ(played({"run", "no-lock", "--store", silent.store(), "--patience", "1h"}, interrupt).code, 130);
}

TEST(lab, a_server_that_is_no_redis_is_named) {
    const stranger web;
    const auto answer = [&](pid_t, const std::stop_token&) {
        const auto guest = web.guest();
        const std::string_view said = "HTTP/1.1 400 Bad Request\r\n\r\n";
        EXPECT_EQ(::write(guest.fd(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
    };
    EXPECT_EQ(played({"run", "no-lock", "--store", web.store()}, answer).code, 69);
}

TEST(lab, a_story_that_does_not_exist_is_named) {
    EXPECT_EQ(played({"run", "setnx-then-expires"}).code, 64);
}

// Time is the director's. A sleep would hope.
TEST(lab, nothing_in_it_sleeps) {
    int files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(std::string(MORTISE_SOURCE_DIR) + "/lab")) {
        if (each.path().extension() != ".cpp" && each.path().extension() != ".hpp") continue;
        ++files;
        std::stringstream text;
        text << std::ifstream{each.path()}.rdbuf();
        for (const char* call : {"sleep(", "sleep_for(", "sleep_until("})
            EXPECT_EQ(text.str().find(call), std::string::npos) << each.path() << ": " << call;
    }
    EXPECT_GT(files, 50);
}

}  // namespace
