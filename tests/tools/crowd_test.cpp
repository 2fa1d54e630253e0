// As many runs at once as a fleet of cron jobs would start, on every store that has a server.
#include "program.hpp"

#include <mortise/spi/fixture.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace command {
namespace {

class command_crowd : public command_suite, public ::testing::WithParamInterface<mortise::spi::fixture*> {};

// host: has a limited number of process slots, and a storm of its own.
std::vector<mortise::spi::fixture*> all_with_a_server() {
    static const mortise::spi::fixtures all = mortise::spi::plain_fixtures();
    std::vector<mortise::spi::fixture*> some;
    for (const auto& each : all)
        if (each->spans_processes() && each->store() != "host") some.push_back(each.get());
    return some;
}
INSTANTIATE_TEST_SUITE_P(stores, command_crowd, ::testing::ValuesIn(all_with_a_server()),
                         [](const auto& of) { return std::string(of.param->store()); });

TEST_P(command_crowd, is_served) {
    // A ZooKeeper server takes sixty connections from one address, unless it is told otherwise.
    const bool in_full = std::getenv("MORTISE_STORMS_IN_FULL") != nullptr && GetParam()->store() != "zookeeper";
    const int crowd = in_full ? 1100 : 30;
    ::setenv("MORTISE_STORE", GetParam()->fresh_url().c_str(), 1);  // it may have a password, which no argument may
    const auto begun = std::chrono::steady_clock::now();
    std::vector<child> all;
    for (int i = 0; i < crowd; ++i) all.push_back(start({"run", "-w", "200s", "x", "--", "true"}));
    int failed = 0;
    for (child& each : all) failed += each.wait(280s) != 0 ? 1 : 0;
    const auto took = std::chrono::steady_clock::now() - begun;
    std::cout << "store=" << GetParam()->store() << " crowd=" << crowd << " failed=" << failed
              << " seconds=" << std::chrono::duration<double>(took).count() << "\n";
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(content(scratch_ / "err"), "");
}

}  // namespace
}  // namespace command
