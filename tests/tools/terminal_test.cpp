// `run` on a real terminal: the waiting line, Ctrl-C, Ctrl-Z and fg, and who may read the keyboard. And `watch`.
#include "program.hpp"

#include <mortise/client.hpp>

#include <filesystem>
#include <sstream>

#include <poll.h>
#include <pty.h>

namespace command {
namespace {

// A process with a terminal of its own, and somebody at the keyboard.
class terminal {
public:
    template <class Work>
    explicit terminal(Work work, unsigned short columns = 200) {
        winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
        if (pid_ < 0) throw std::runtime_error("no terminal");
        if (pid_ == 0) {
            ::alarm(250);
            ::_exit(work());
        }
    }
    ~terminal() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(master_);
    }
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    void type(const std::string& keys) const { static_cast<void>(!::write(master_, keys.data(), keys.size())); }

    // Whether the text appears on the screen, after what was found before.
    bool shows(const std::string& text, std::chrono::seconds timeout = 60s) {
        const bool found = eventually(
            [&] {
                look();
                return screen_.find(text, seen_) != screen_.npos;
            },
            timeout);
        if (found) seen_ = screen_.find(text, seen_) + text.size();
        return found;
    }

    int wait(std::chrono::seconds timeout = 60s) {
        int status = 0;
        const bool ended = eventually(
            [&] {
                look();
                return ::waitpid(pid_, &status, WNOHANG) == pid_;
            },
            timeout);
        if (!ended) return -1000;
        look();
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    const std::string& screen() const { return screen_; }

private:
    void look() {
        pollfd readable{master_, POLLIN, 0};
        char text[4096];
        while (::poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0) {
            const ssize_t size = ::read(master_, text, sizeof text);
            if (size <= 0) return;
            screen_.append(text, static_cast<std::size_t>(size));
        }
    }

    int master_ = -1;
    pid_t pid_ = 0;
    std::string screen_;
    std::size_t seen_ = 0;
};

const std::string ctrl_c = "\x03";
const std::string ctrl_z = "\x1a";

class on_a_terminal : public command_suite {
protected:
    // The program alone, as if started by a shell that then waits.
    terminal run(const line& arguments, unsigned short columns = 200) const {
        return terminal{[&] { return become(arguments); }, columns};
    }
    // A shell with job control, which knows the program as `mortise` and prompts with "ready> ".
    terminal shell() const {
        return terminal{[&] {
            const std::string folder = std::filesystem::path(MORTISE_PROGRAM).parent_path();
            ::setenv("PATH", (folder + ":" + ::getenv("PATH")).c_str(), 1);
            ::setenv("PS1", "ready> ", 1);
            ::setenv("S", scratch_.path().c_str(), 1);
            ::unsetenv("ENV");
            ::execlp("sh", "sh", "-i", nullptr);
            return 98;
        }};
    }
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }
    std::uintmax_t size_of(const std::string& file) const {
        std::error_code none;
        const auto size = std::filesystem::file_size(scratch_ / file, none);
        return none ? 0 : size;
    }
    bool grows(const std::string& file) const {
        const auto before = size_of(file);
        return eventually([&] { return size_of(file) > before; }, 30s);
    }
    bool stands_still(const std::string& file) const {
        return eventually(
            [&] {
                const auto before = size_of(file);
                std::this_thread::sleep_for(300ms);
                return size_of(file) == before;
            },
            30s);
    }

    mortise::client locks_{"host:" + store_, {.label = "the test"}};
};

TEST_F(on_a_terminal, a_wait_shows_who_holds_the_lock_for_how_long_and_the_place) {
    mortise::hold mine = locks_.acquire("x");
    terminal screen = run({"run", "x", "--", "echo", "done"});
    EXPECT_TRUE(screen.shows("\r\x1b[Kmortise: waiting for 'x', held by "));
    EXPECT_TRUE(screen.shows(" pid " + std::to_string(::getpid()) + " (the test) for "));
    EXPECT_TRUE(screen.shows("; place 1 of 1"));
    EXPECT_TRUE(screen.shows(" s; place 1 of 1")) << "it goes on counting";
    mine.release();
    EXPECT_TRUE(screen.shows("\r\x1b[K")) << "the line is taken away";
    EXPECT_TRUE(screen.shows("done"));
    EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_a_terminal, ctrl_c_ends_a_wait_and_leaves_nobody_in_the_queue) {
    const mortise::hold mine = locks_.acquire("x");
    terminal screen = run({"run", "x", "--", "true"});
    ASSERT_TRUE(screen.shows("place 1"));
    screen.type(ctrl_c);
    EXPECT_EQ(screen.wait(), 130);
    EXPECT_EQ(held().front().waiting, 0U);
}

TEST_F(on_a_terminal, ctrl_c_reaches_the_command_once) {
    terminal screen = run({"run", "x", "--", "sh", "-c",
                           "n=0; trap 'n=$((n+1))' INT; echo begun; while :; do sleep 0.05; [ $n -gt 0 ] && "
                           "{ sleep 0.3; echo heard $n; exit 4; }; done"});
    ASSERT_TRUE(screen.shows("begun"));
    screen.type(ctrl_c);
    EXPECT_TRUE(screen.shows("heard 1"));
    EXPECT_EQ(screen.wait(), 4);
    EXPECT_TRUE(held().empty());
}

TEST_F(on_a_terminal, the_command_reads_the_keyboard) {
    terminal screen = run({"run", "x", "--", "sh", "-c", "echo begun; read line; echo read $line"});
    ASSERT_TRUE(screen.shows("begun"));
    screen.type("one\n");
    EXPECT_TRUE(screen.shows("read one"));
    EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_a_terminal, ctrl_z_stops_the_command_and_the_job_but_not_the_renewing) {
    terminal screen = shell();
    ASSERT_TRUE(screen.shows("ready> "));
    // Nothing but built-ins: a shell that waits for its vfork cannot be stopped, by anybody.
    screen.type("mortise run --lease 1s x -- sh -c 'echo begun; while :; do echo . >> $S/beat; done'\n");
    ASSERT_TRUE(screen.shows("begun"));
    ASSERT_TRUE(grows("beat"));

    screen.type(ctrl_z);
    EXPECT_TRUE(screen.shows("ready> ")) << "the shell has its terminal back: " << screen.screen();
    EXPECT_TRUE(stands_still("beat"));
    const auto token = held().empty() ? mortise::token{} : held().front().holder.token;
    std::this_thread::sleep_for(2500ms);
    ASSERT_EQ(held().size(), 1U) << "renewed over more than two leases";
    EXPECT_EQ(held().front().holder.token, token);

    screen.type("fg\n");
    EXPECT_TRUE(grows("beat"));
    screen.type(ctrl_z);
    EXPECT_TRUE(screen.shows("ready> "));
    EXPECT_TRUE(stands_still("beat"));
    screen.type("bg\n");
    EXPECT_TRUE(grows("beat")) << "in the background too";
    EXPECT_TRUE(screen.shows("[1]")) << "bg's own line";
    EXPECT_TRUE(screen.shows("ready> "));
    screen.type("fg\n");
    EXPECT_TRUE(screen.shows("mortise run"));
    std::this_thread::sleep_for(300ms);
    screen.type(ctrl_c);
    EXPECT_TRUE(screen.shows("ready> "));
    screen.type("echo code=$?.\n");
    EXPECT_TRUE(screen.shows("code=130."));
    EXPECT_TRUE(held().empty());
    screen.type("exit\n");
    EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_a_terminal, a_stopped_wait_passes_its_turn_on_and_goes_on_after_fg) {
    mortise::hold mine = locks_.acquire("x");
    terminal screen = shell();
    ASSERT_TRUE(screen.shows("ready> "));
    screen.type("mortise run -w 1h x -- sh -c 'echo begun >> $S/begun'\n");
    ASSERT_TRUE(screen.shows("place 1"));
    screen.type(ctrl_z);
    EXPECT_TRUE(screen.shows("ready> "));
    EXPECT_FALSE(screen.shows("waiting for", 2s)) << "the terminal is not its own now";
    child behind = start({"run", "-w", "60s", "x", "--", "sh", "-c", "echo > " + scratch_ / "behind"});
    EXPECT_TRUE(eventually([&] { return held().at(0).waiting == 2; }, 30s)) << "it keeps its place until its turn";
    mine.release();
    EXPECT_EQ(behind.wait(60s), 0) << "a stopped job must not keep others waiting";
    EXPECT_TRUE(eventually([&] { return held().empty(); }, 30s));
    EXPECT_EQ(size_of("begun"), 0U) << "a stopped job does nothing";

    mine = locks_.acquire("x");
    screen.type("fg\n");
    EXPECT_TRUE(screen.shows("place 1")) << "it waits again";
    EXPECT_EQ(size_of("begun"), 0U);
    mine.release();
    EXPECT_TRUE(eventually([&] { return size_of("begun") > 0; }, 60s));
    screen.type("exit\n");
    EXPECT_EQ(screen.wait(), 0);
}

// What a shell with job control does for `mortise run x -- cat &`, then `kill %1`: TERM, and CONT because it is stopped. The
// command reads from the terminal, is stopped for it, continued, and stopped again, at any moment of which TERM may come.
TEST_F(on_a_terminal, a_job_that_is_stopped_on_terminal_input_is_ended_by_a_kill) {
    terminal screen{[] {
        int deaf = 0;
        for (int round = 0; round < 40; ++round) {
            const pid_t job = ::fork();
            if (job == 0) {
                ::setpgid(0, 0);
                ::_exit(become({"run", "x", "--", "cat"}));
            }
            ::setpgid(job, job);
            int status = 0;
            if (!eventually([&] { return ::waitpid(job, &status, WNOHANG | WUNTRACED) == job; }, 60s)) return 90;
            if (!WIFSTOPPED(status)) return 91;
            if (round % 2 == 1) {  // and once more: the kill comes about when it stops
                ::kill(-job, SIGCONT);
                std::this_thread::sleep_for(std::chrono::microseconds{round * 100});
            }
            ::kill(-job, SIGTERM);
            ::kill(-job, SIGCONT);
            const bool ended =
                eventually([&] { return ::waitpid(job, &status, WNOHANG) == job && WIFEXITED(status); }, 10s);
            if (!ended || WEXITSTATUS(status) != 143) ++deaf;
            if (!ended) {
                ::kill(job, SIGKILL);
                ::waitpid(job, nullptr, 0);
            }
        }
        return deaf;
    }};
    EXPECT_EQ(screen.wait(200s), 0) << "so many of 40 did not end";
    EXPECT_TRUE(eventually([&] { return held().empty(); }, 30s));
}

// With its output in a pipe the command starts in the background, beside the pager; it gets the keyboard when it asks.
TEST_F(on_a_terminal, a_command_in_a_pipeline_gets_the_keyboard_when_it_reads) {
    terminal screen = shell();
    ASSERT_TRUE(screen.shows("ready> "));
    screen.type("mortise run x -- sh -c 'echo begun >&2; read line; echo read $line' | sed s/read/piped/\n");
    ASSERT_TRUE(screen.shows("begun"));
    screen.type("two\n");
    EXPECT_TRUE(screen.shows("piped two"));
    screen.type("exit\n");
    EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_a_terminal, watch_draws_its_table_anew_until_ctrl_c) {
    mortise::hold mine = locks_.acquire("x");
    terminal screen = run({"watch"});
    EXPECT_TRUE(screen.shows("\x1b[H\x1b[2J"));
    EXPECT_TRUE(screen.shows("1 held, 0 waiting"));
    EXPECT_TRUE(screen.shows("NAME"));
    EXPECT_TRUE(screen.shows(" pid " + std::to_string(::getpid()) + " (the test)"));
    EXPECT_TRUE(screen.shows("\x1b[H\x1b[2J")) << "the time goes on, though nothing has changed";
    const mortise::hold more = locks_.acquire("y");
    EXPECT_TRUE(screen.shows("2 held, 0 waiting"));
    mine.release();
    EXPECT_TRUE(screen.shows("1 held, 0 waiting"));
    screen.type(ctrl_c);
    EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_a_terminal, a_list_fits_it_and_a_pipe_gets_all) {
    const std::string name(70, 'n');
    mortise::client locks{"host:" + store_, {.label = "a label that is rather long for a table"}};
    const mortise::hold mine = locks.acquire(name, {.lease = 20s});
    terminal narrow = run({"list"}, 80);
    EXPECT_EQ(narrow.wait(), 0);
    std::istringstream lines{narrow.screen()};
    int count = 0;
    for (std::string each; std::getline(lines, each); ++count) EXPECT_LE(each.size(), 81u) << each;  // with its \r
    EXPECT_EQ(count, 2);
    EXPECT_NE(narrow.screen().find(to_string(mine.token())), std::string::npos) << narrow.screen();
    EXPECT_EQ(narrow.screen().find(name), std::string::npos);
    const outcome piped = mortise({"list"});
    EXPECT_NE(piped.out.find(name + "  "), std::string::npos) << piped.out;
    EXPECT_NE(piped.out.find("a label that is rather long for a table"), std::string::npos) << piped.out;
}

}  // namespace
}  // namespace command
