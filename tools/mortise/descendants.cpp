#include "descendants.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include <signal.h>
#include <unistd.h>

namespace command {
namespace {

std::vector<process> all_processes() {
    std::vector<process> all;
    std::error_code ec;
    for (std::filesystem::directory_iterator at{"/proc", ec}, end; !ec && at != end; at.increment(ec)) {
        const std::string number = at->path().filename();
        pid_t pid = 0;
        const auto read = std::from_chars(number.data(), number.data() + number.size(), pid);
        if (read.ec != std::errc{} || read.ptr != number.data() + number.size()) continue;
        if (auto one = process_at(pid)) all.push_back(*std::move(one));
    }
    return all;
}

}  // namespace

// "pid (name) state ppid group ...": the name may hold anything, so its end is looked for from behind.
std::optional<process> process_at(pid_t pid) {
    std::string text;
    std::getline(std::ifstream{"/proc/" + std::to_string(pid) + "/stat"}, text, '\0');
    const std::size_t name_begins = text.find('('), name_ends = text.rfind(')');
    if (name_ends == text.npos || text.size() < name_ends + 5) return std::nullopt;
    process made{
        .pid = pid, .name = text.substr(name_begins + 1, name_ends - name_begins - 1), .state = text[name_ends + 2]};
    char* next = nullptr;
    made.parent = static_cast<pid_t>(std::strtol(text.c_str() + name_ends + 4, &next, 10));
    made.group = static_cast<pid_t>(std::strtol(next, nullptr, 10));
    return made;
}

std::vector<process> descendants(const std::vector<pid_t>& except) {
    std::multimap<pid_t, process> children;
    for (process& each : all_processes()) children.emplace(each.parent, std::move(each));
    std::vector<process> found;
    std::vector<pid_t> parents{::getpid()};
    while (!parents.empty()) {
        const auto [first, last] = children.equal_range(parents.back());
        parents.pop_back();
        for (auto at = first; at != last; ++at) {
            if (std::find(except.begin(), except.end(), at->second.pid) != except.end()) continue;
            parents.push_back(at->second.pid);
            if (!at->second.ended()) found.push_back(at->second);
        }
    }
    return found;
}

void kill_all(const std::vector<process>& all) {
    for (const int signal : {SIGSTOP, SIGKILL})
        for (const process& each : all) ::kill(each.pid, signal);
}

}  // namespace command
