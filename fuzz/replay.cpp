// Runs all targets on what the fuzzers have kept: fuzz_replay CORPUS [TARGET FILE...]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// MORTISE_FUZZ_TARGETS has X(name) for each.
#define X(name)                        \
    namespace mortise::fuzzing::name { \
    void run(std::string_view input);  \
    }
MORTISE_FUZZ_TARGETS
#undef X

namespace {

using run = void (*)(std::string_view);
#define X(name) {#name, &mortise::fuzzing::name::run},
const std::map<std::string, run> targets{MORTISE_FUZZ_TARGETS};
#undef X

void replay(const std::string& name, const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::cerr << name << ' ' << file.filename().string() << std::endl;  // the last one is the culprit
    targets.at(name)(bytes);
}

// ZooKeeper's client ends the program when a server answers what was not asked (src/stores/zookeeper/README.md), and whether one
// does depends on which request came first. So that target has a process of its own, which may end like this and in no other way.
bool replay_apart(const char* program, const std::string& name, const std::filesystem::path& file) {
    const std::string command = "'" + std::string(program) + "' - " + name + " '" + file.string() + "' 2>&1";
    std::string said;
    FILE* out = ::popen(command.c_str(), "r");
    if (out == nullptr) return false;
    for (char some[4096]; const std::size_t length = std::fread(some, 1, sizeof some, out);) said.append(some, length);
    const bool ended_well = ::pclose(out) == 0;
    const bool gave_up = said.find("zookeeper.c:") != said.npos && said.find("Assertion") != said.npos;
    std::cerr << said;
    return ended_well || gave_up;
}

}  // namespace

int main(int count, char** given) {
    if (count > 3) {
        for (int i = 3; i < count; ++i) replay(given[2], given[i]);
        return 0;
    }
    if (count != 2) return 64;
    for (const auto& [name, target] : targets) {
        std::vector<std::filesystem::path> files;
        for (const auto& each : std::filesystem::directory_iterator(std::filesystem::path{given[1]} / name))
            files.push_back(each.path());
        std::sort(files.begin(), files.end());
        for (const auto& file : files) {
            if (name != "zookeeper_server")
                replay(name, file);
            else if (!replay_apart(given[0], name, file))
                return 1;
        }
        std::cout << name << ": " << files.size() << " inputs\n";
        if (files.empty()) return 1;
    }
}
