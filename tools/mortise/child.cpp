#include "child.hpp"

#include "exit_codes.hpp"
#include "json.hpp"
#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

// Both bounds included. Kernels before 5.9 need them one by one.
void close_from(unsigned first, unsigned last) noexcept {
    if (first > last || ::close_range(first, last, 0) == 0) return;
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    for (unsigned each = first; each <= last && each < most.rlim_cur; ++each) ::close(static_cast<int>(each));
}

// Libraries open some that are not closed on exec.
void close_all_but(const std::vector<int>& kept) noexcept {
    unsigned next = STDERR_FILENO + 1;
    for (const int each : kept) {
        close_from(next, static_cast<unsigned>(each) - 1);
        next = static_cast<unsigned>(each) + 1;
    }
    close_from(next, ~0U);
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
    close_all_but(terms.descriptors);
    ::sigprocmask(SIG_SETMASK, &terms.mask, nullptr);
    ::execvpe(line.front(), line.data(), environment.data());
    const int why = errno;
    say(complaint.c_str());
    say(::strerrordesc_np(why));
    if (terms.json) say(why == ENOENT ? "\",\"exit\":127}" : "\",\"exit\":126}");
    say("\n");
    ::_exit(static_cast<int>(why == ENOENT ? exit_code::not_found : exit_code::cannot_execute));
}

std::vector<int> inherited_descriptors() {
    std::vector<int> all;
    std::error_code ec;
    for (std::filesystem::directory_iterator at{"/proc/self/fd", ec}, end; !ec && at != end; at.increment(ec)) {
        const int each = std::atoi(at->path().filename().c_str());
        if (each > STDERR_FILENO && (::fcntl(each, F_GETFD) & FD_CLOEXEC) == 0) all.push_back(each);
    }
    if (ec) {
        for (int each = STDERR_FILENO + 1; each < 1024; ++each)
            if (::fcntl(each, F_GETFD) == 0) all.push_back(each);
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace command
