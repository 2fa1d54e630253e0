#include "checker/campaign/crew.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace mortise::checker {
namespace {

using namespace std::chrono_literals;

// Orders may name a store with a password: others can read the words of a command, and not its environment.
constexpr const char* variable = "MORTISE_CHECK_WORKER";
constexpr char between = '\x1f';

// 'T' of one that is stopped, 't' of one that we stopped as its debugger would.
char state_of(pid_t pid, pid_t thread) {
    std::string text;
    std::getline(std::ifstream{"/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/stat"}, text);
    const auto name_ends = text.rfind(')');
    return name_ends == text.npos || name_ends + 2 >= text.size() ? '?' : text[name_ends + 2];
}

bool within(std::chrono::milliseconds patience, const auto& happened) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!happened()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

pid_t spawned(std::vector<std::string> environment) {
    std::string program = "/proc/self/exe";
    std::string name = "mortise-check worker";
    char* words[] = {name.data(), nullptr};
    std::vector<char*> settings;
    for (std::string& one : environment) settings.push_back(one.data());
    settings.push_back(nullptr);
    sigset_t later;  // until it can answer them
    ::sigemptyset(&later);
    ::sigaddset(&later, SIGTERM);
    ::sigaddset(&later, SIGUSR1);
    posix_spawnattr_t how;
    ::posix_spawnattr_init(&how);
    ::posix_spawnattr_setsigmask(&how, &later);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, program.c_str(), nullptr, &how, words, settings.data());
    ::posix_spawnattr_destroy(&how);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), "cannot start a worker");
    return pid;
}

std::string ending(int status) {
    if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
    return "ended with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

crew::crew(setup how) : how_(std::move(how)), members_(how_.size) {
    for (std::size_t i = 0; i < size(); ++i) start(i);
}

crew::~crew() {
    for (const member& one : members_) {
        if (one.pid == 0) continue;
        ::kill(one.pid, SIGKILL);
        ::waitpid(one.pid, nullptr, 0);
    }
}

void crew::start(std::size_t i) {
    member& one = members_[i];
    ++one.generation;
    worker_orders orders = how_.orders;
    if (!how_.urls.empty()) orders.url = how_.urls[i];
    orders.number = static_cast<std::uint32_t>(i);
    orders.seed += one.generation * 7919;
    orders.log_file = how_.directory + "/worker-" + std::to_string(i) + "-" + std::to_string(one.generation) + ".log";
    std::string text;
    for (const std::string& word : orders.words()) text += (text.empty() ? "" : std::string{between}) + word;
    std::vector<std::string> environment = how_.settings;
    for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
    environment.push_back(std::string(variable) + "=" + text);
    one.pid = spawned(std::move(environment));
    logs_.push_back(orders.log_file);
}

std::optional<std::size_t> crew::find(pid_t pid) const {
    for (std::size_t i = 0; i < size(); ++i)
        if (pid != 0 && members_[i].pid == pid) return i;
    return std::nullopt;
}

bool crew::kill(std::size_t i) {
    int status = 0;
    ::kill(members_[i].pid, SIGKILL);
    ::waitpid(std::exchange(members_[i].pid, 0), &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void crew::replace(std::size_t i) {
    if (members_[i].pid == 0) start(i);
}

bool crew::stop(std::size_t i) {
    ::kill(members_[i].pid, SIGSTOP);
    return within(2000ms, [&] { return stands(i); });
}

bool crew::stands(std::size_t i) const {
    return state_of(members_[i].pid, members_[i].pid) == 'T';
}

void crew::go_on(std::size_t i) {
    ::kill(members_[i].pid, SIGCONT);
}

void crew::tell(std::size_t i, int signal) const {
    if (members_[i].pid != 0) ::kill(members_[i].pid, signal);
}

bool crew::stop_thread(std::size_t i, std::uint64_t which) {
    const pid_t pid = members_[i].pid;
    std::vector<pid_t> threads;
    std::error_code gone;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task", gone})
        threads.push_back(static_cast<pid_t>(std::stol(each.path().filename())));
    if (threads.empty()) return false;
    const pid_t thread = threads[which % threads.size()];
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return false;
    stopped_thread_ = thread;
    process_of_it_ = pid;
    int status = 0;
    return ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 && ::waitpid(thread, &status, __WALL) == thread &&
           state_of(pid, thread) == 't';
}

bool crew::let_thread_go_on() {
    const pid_t thread = std::exchange(stopped_thread_, 0);
    if (thread == 0) return false;
    const bool stood = state_of(process_of_it_, thread) == 't';
    ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    return stood;
}

bool crew::can_stop_threads() {
    const bool stood = stop_thread(0, 0);
    return let_thread_go_on() && stood;
}

bool crew::limit_descriptors(std::size_t i, bool limited) {
    rlimit now{};
    const pid_t pid = members_[i].pid;
    if (pid == 0 || ::prlimit(pid, RLIMIT_NOFILE, nullptr, &now) != 0) return false;
    now.rlim_cur = limited ? 1 : now.rlim_max;
    return ::prlimit(pid, RLIMIT_NOFILE, &now, nullptr) == 0;
}

std::vector<std::string> crew::look_after() {
    std::vector<std::string> odd;
    for (std::size_t i = 0; i < size(); ++i) {
        int status = 0;
        if (members_[i].pid == 0 || ::waitpid(members_[i].pid, &status, WNOHANG) != members_[i].pid) continue;
        odd.push_back("worker " + std::to_string(i) + ", process " + std::to_string(members_[i].pid) + ", " +
                      ending(status) + " by itself");
        members_[i].pid = 0;
        start(i);
    }
    return odd;
}

std::vector<std::string> crew::dismiss(std::chrono::seconds patience) {
    std::vector<std::string> odd;
    for (const member& one : members_)
        if (one.pid != 0) ::kill(one.pid, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + patience;
    for (member& one : members_) {
        if (one.pid == 0) continue;
        int status = 0;
        const auto rest =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        const std::string who = "process " + std::to_string(one.pid);
        if (!within(std::max(rest, 0ms), [&] { return ::waitpid(one.pid, &status, WNOHANG) == one.pid; })) {
            odd.push_back(who + " did not leave within " + std::to_string(patience.count()) + " s");
            ::kill(one.pid, SIGKILL);
            ::waitpid(one.pid, &status, 0);
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            odd.push_back(who + " " + ending(status) + " when it was told to leave");
        }
        one.pid = 0;
    }
    return odd;
}

std::optional<int> work_if_told() {
    const char* told = std::getenv(variable);
    if (told == nullptr) return std::nullopt;
    std::vector<std::string> words;
    std::istringstream in{told};
    for (std::string word; std::getline(in, word, between);) words.push_back(word);
    try {
        return work(worker_orders::of(words));
    } catch (const std::exception& failed) {
        std::cerr << "mortise-check worker: " << failed.what() << std::endl;
        return 99;
    }
}

}  // namespace mortise::checker
