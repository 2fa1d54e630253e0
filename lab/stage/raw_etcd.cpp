#include "lab/stage/raw_etcd.hpp"

#include <array>
#include <cstdio>
#include <regex>
#include <stdexcept>

namespace lab {

std::string etcdctl(actor& me, const std::string& words) {
    const std::string line = "ETCDCTL_API=3 etcdctl --command-timeout=20s --endpoints=" + me.where().etcd + " " + words;
    FILE* const pipe = ::popen((line + " 2>&1").c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error("cannot run etcdctl");
    std::string printed;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) printed.append(room.data(), got);
    if (::pclose(pipe) != 0) throw std::runtime_error("etcdctl " + words + ": " + printed);
    while (printed.ends_with('\n')) printed.pop_back();
    std::string shown = words + " → " + (printed.empty() ? "–" : printed);
    for (char& each : shown)
        if (each == '\n') each = ' ';
    static const std::regex lease{"[0-9a-f]{16}"};  // another in every run; an actor has one
    me.asked(std::regex_replace(shown, lease, me.name() + "'s"), {});
    return printed;
}

}  // namespace lab
