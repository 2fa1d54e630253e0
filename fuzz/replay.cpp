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

// A client that waits for its server takes a second now and then. What has a name (a defect that was found, a recording) is
// always replayed, and so many of those that the fuzzer named.
constexpr std::size_t most_that_wait = 8;

std::size_t leave_out_the_many(std::vector<std::filesystem::path>& files) {
    std::size_t seen = 0;
    return std::erase_if(files, [&](const std::filesystem::path& file) {
        const std::string name = file.filename().string();
        const bool by_the_fuzzer = name.size() == 40 && name.find_first_not_of("0123456789abcdef") == name.npos;
        return by_the_fuzzer && seen++ >= most_that_wait;
    });
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
        const std::size_t left = name.ends_with("_server") ? leave_out_the_many(files) : 0;
        for (const auto& file : files) {
            if (name != "zookeeper_server")
                replay(name, file);
            else if (!replay_apart(given[0], name, file))
                return 1;
        }
        std::cout << name << ": " << files.size() << " inputs";
        if (left > 0) std::cout << "; " << left << " more are for make fuzz";
        std::cout << "\n";
        if (files.empty()) return 1;
    }
}
