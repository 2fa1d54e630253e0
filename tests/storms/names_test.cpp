// A million names held by one client: what a hold costs beyond the store's own record of it.
#include "checker/sim/sim_clock.hpp"
#include "support/memory_use.hpp"
#include "support/sanitizers.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/client.hpp>

#include <cstdio>
#include <functional>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

std::string name_of(std::uint64_t n) {
    return "name-" + std::to_string(n);
}

// Measured in a process of its own, so that neither run inherits the other's heap.
std::size_t growth_in_child(const std::function<std::size_t()>& measure) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::size_t bytes = measure();
        const bool told = ::write(ends[1], &bytes, sizeof bytes) == sizeof bytes;
        ::_exit(told ? 0 : 1);
    }
    ::close(ends[1]);
    std::size_t bytes = 0;
    EXPECT_EQ(::read(ends[0], &bytes, sizeof bytes), static_cast<ssize_t>(sizeof bytes));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return bytes;
}

std::size_t bare_store(std::uint64_t names) {
    struct deaf final : spi::events {
        void granted(std::string_view, const claim_id&, const spi::grant&) override {}
        void lost(std::string_view, const claim_id&) override {}
    } events;
    sim_clock clock;
    const auto store = spi::factory_of("memory:bare")(spi::context{clock, events, "host", 1});
    std::vector<claim_id> ids(names);
    const std::size_t before = resident_bytes();
    for (std::uint64_t n = 0; n < names; ++n) {
        ids[n] = claim_id::random();
        const std::string name = name_of(n);
        store->claim({.name = name, .id = ids[n], .lease = std::chrono::seconds{3600}, .label = "storm"},
                     [](const spi::claim_answer& said) {
                         if (said.is != spi::claim_answer::verdict::granted) ::_exit(2);
                     });
    }
    return resident_bytes() - before;
}

std::size_t client_holds(std::uint64_t names) {
    client locks{"memory:held", {.lease = std::chrono::seconds{3600}, .label = "storm"}};
    std::vector<hold> held(names);
    const std::size_t before = resident_bytes();
    for (std::uint64_t n = 0; n < names; ++n) held[n] = locks.acquire(name_of(n));
    const std::size_t grown = resident_bytes() - before;
    for (const hold& one : held)
        if (!one.valid()) ::_exit(3);
    return grown;
}

TEST(names, a_hold_costs_at_most_512_bytes_more_than_the_store_alone) {
    if (under_asan || under_tsan)
        GTEST_SKIP() << "a sanitizer brings its own malloc and shadow memory; measured by the plain build";
    const std::uint64_t names = scale(1'000'000);
    const std::size_t bare = growth_in_child([&] { return bare_store(names); });
    const std::size_t held = growth_in_child([&] { return client_holds(names); });
    const double per_name = (static_cast<double>(held) - static_cast<double>(bare)) / static_cast<double>(names);
    std::cout << "names: held=" << names << " bytes_per_name_bare=" << bare / names
              << " bytes_per_name_client=" << held / names << " more=" << per_name << "\n";
    EXPECT_LE(per_name, 512.0);
}

}  // namespace
}  // namespace mortise::testing
