// The command as its users have it: a program, started with arguments, in a directory and a store of its own.
#pragma once

#include "support/children.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace command {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::scratch_directory;

using line = std::vector<std::string>;

inline std::string content(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>(in), {}};
}

struct outcome {
    int code = 0;
    std::string out{};
    std::string err{};
};

class command_suite : public ::testing::Test {
protected:
    command_suite() { ::setenv("MORTISE_STORE", ("host:" + store_).c_str(), 1); }
    ~command_suite() override { ::unsetenv("MORTISE_STORE"); }

    // Becomes the program: for the inside of a child.
    static int become(const line& arguments) {
        std::vector<char*> all{const_cast<char*>(MORTISE_PROGRAM)};
        for (const std::string& each : arguments) all.push_back(const_cast<char*>(each.c_str()));
        all.push_back(nullptr);
        ::alarm(0);
        ::execv(MORTISE_PROGRAM, all.data());
        return 98;
    }

    // Started, with stdout and stderr in files of the scratch directory. Its pid is the program's.
    child start(const line& arguments, const std::string& out = "out", const std::string& err = "err") const {
        return child{[&] {
            redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
            redirect(STDOUT_FILENO, scratch_ / out, O_WRONLY | O_CREAT | O_APPEND);
            redirect(STDERR_FILENO, scratch_ / err, O_WRONLY | O_CREAT | O_APPEND);
            return become(arguments);
        }};
    }

    // Run to its end.
    outcome mortise(const line& arguments) const {
        const std::string mark = std::to_string(++runs_);
        child made = start(arguments, "out" + mark, "err" + mark);
        outcome got{.code = made.wait(60s)};
        got.out = content(scratch_ / ("out" + mark));
        got.err = content(scratch_ / ("err" + mark));
        return got;
    }

    static void redirect(int from, const std::string& to, int flags) {
        const int opened = ::open(to.c_str(), flags | O_CLOEXEC, 0600);
        if (opened < 0 || ::dup2(opened, from) < 0) ::_exit(97);
    }

    [[nodiscard]] bool appears(const std::string& file) const {
        return eventually([&] { return ::access((scratch_ / file).c_str(), F_OK) == 0; }, 60s);
    }
    [[nodiscard]] bool eventually_says(const std::string& file, const std::string& text) const {
        return eventually([&] { return content(scratch_ / file).find(text) != std::string::npos; }, 60s);
    }

    scratch_directory scratch_;
    const std::string store_ = scratch_ / "store";
    mutable int runs_ = 0;
};

}  // namespace command
