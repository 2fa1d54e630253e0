// What the command of `run` inherits, on every store.
#include "program.hpp"

#include <mortise/spi/fixture.hpp>

namespace command {
namespace {

class inheritance : public command_suite, public ::testing::WithParamInterface<mortise::spi::fixture*> {};

std::vector<mortise::spi::fixture*> all_that_span_processes() {
    static const mortise::spi::fixtures all = mortise::spi::plain_fixtures();
    std::vector<mortise::spi::fixture*> some;
    for (const auto& each : all)
        if (each->spans_processes()) some.push_back(each.get());
    return some;
}
INSTANTIATE_TEST_SUITE_P(stores, inheritance, ::testing::ValuesIn(all_that_span_processes()),
                         [](const auto& of) { return std::string(of.param->store()); });

TEST_P(inheritance, the_command_has_the_descriptors_of_the_caller_and_no_other) {
    ::setenv("MORTISE_STORE", GetParam()->fresh_url().c_str(), 1);  // it may have a password, which no argument may
    child made{[&] {
        redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
        redirect(STDOUT_FILENO, scratch_ / "out", O_WRONLY | O_CREAT);
        redirect(STDERR_FILENO, scratch_ / "err", O_WRONLY | O_CREAT);
        // What this process has from the build's own tools must not count.
        ::close_range(3, ~0U, 0);
        if (::dup2(STDIN_FILENO, 3) < 0 || ::dup2(STDIN_FILENO, 17) < 0) return 97;
        // Looked at one by one: a shell that lists a directory opens it.
        return become(
            {"run", "x", "--", "sh", "-c",
             "n=0; while [ $n -lt 64 ]; do [ -L /proc/$$/fd/$n ] && printf \"$n \" && readlink /proc/$$/fd/$n; "
             "n=$((n + 1)); done; true"});
    }};
    ASSERT_EQ(made.wait(90s), 0) << content(scratch_ / "err");
    const std::string out = scratch_ / "out", err = scratch_ / "err";
    EXPECT_EQ(content(out), "0 /dev/null\n1 " + out + "\n2 " + err + "\n3 /dev/null\n17 /dev/null\n");
}

}  // namespace
}  // namespace command
