#include "child.hpp"

#include "exit_codes.hpp"
#include "json.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

namespace command {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& each : texts) all.push_back(const_cast<char*>(each.c_str()));
    all.push_back(nullptr);
    return all;
}

void say(const char* text) noexcept {
    static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
}

// "pid (name) state ppid group ...": the name may hold anything, so it is skipped from behind.
bool runs_in(const std::filesystem::path& process, pid_t group) {
    std::string text;
    std::getline(std::ifstream{process / "stat"}, text);
    const std::size_t name_ends = text.rfind(')');
    if (name_ends == text.npos || text.size() < name_ends + 4) return false;
    const char state = text[name_ends + 2];
    const std::size_t parent_ends = text.find(' ', name_ends + 4);
    if (parent_ends == text.npos || state == 'Z' || state == 'X') return false;
    return std::strtol(text.c_str() + parent_ends, nullptr, 10) == group;
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view entry = *each;
        bool replaced = false;
        for (const auto& [name, value] : added) replaced = replaced || entry.starts_with(name + "=");
        if (!replaced) all.emplace_back(entry);
    }
    for (const auto& [name, value] : added) all.push_back(name + "=" + value);
    return all;
}

pid_t start_child(const child_terms& terms) {
    const std::vector<char*> line = pointers(terms.line);
    const std::vector<char*> environment = pointers(terms.environment);
    const std::string what = "cannot run " + in_quotes(terms.line.front()) + ": ";
    std::string complaint = "mortise: " + what;
    if (terms.json) {
        complaint = json{}.add("error", what).text();
        complaint.resize(complaint.size() - 2);  // the reason and the rest follow
    }
    const pid_t parent = ::getpid();

    const pid_t made = ::fork();
    if (made != 0) {
        if (made > 0) ::setpgid(made, made);
        return made;
    }
    // The guardian has threads: from here on only what a signal handler might call.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(static_cast<int>(exit_code::lost));
    if (terms.terminal >= 0) ::tcsetpgrp(terms.terminal, ::getpid());  // TTOU is blocked here
    ::sigprocmask(SIG_SETMASK, &terms.mask, nullptr);
    ::execvpe(line.front(), line.data(), environment.data());
    const int why = errno;
    say(complaint.c_str());
    say(::strerrordesc_np(why));
    if (terms.json) say(why == ENOENT ? "\",\"exit\":127}" : "\",\"exit\":126}");
    say("\n");
    ::_exit(static_cast<int>(why == ENOENT ? exit_code::not_found : exit_code::cannot_execute));
}

bool group_alive(pid_t group) {
    if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
    std::error_code ec;
    for (std::filesystem::directory_iterator at{"/proc", ec}, end; !ec && at != end; at.increment(ec)) {
        if (runs_in(at->path(), group)) return true;
    }
    return static_cast<bool>(ec);  // without /proc nobody knows better
}

}  // namespace command
