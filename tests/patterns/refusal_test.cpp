// A store that cannot do what a pattern needs is refused by name, before anybody asks a server.
#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/consistent_cache.hpp>
#include <mortise/patterns/once_per_period.hpp>
#include <mortise/patterns/sharded_stock.hpp>
#include <mortise/patterns/single_flight.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

void expect_refused(const std::function<void()>& make, const std::string& pattern, const std::string& lacks) {
    try {
        make();
        ADD_FAILURE() << pattern << " was made";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unsupported);
        EXPECT_THAT(e.what(), HasSubstr(pattern + " 'x' needs a store with " + lacks + ", and "));
    }
}

TEST(patterns, name_what_a_store_has_not) {
    client foreign{"redis://127.0.0.1:1?protocol=setnx"};
    memory_storage one;
    expect_refused([&] { single_flight{foreign, one, "x"}; }, "single_flight", "fencing tokens");
    expect_refused([&] { write_through(foreign, one, one, "x"); }, "consistent_cache", "fencing tokens");
    expect_refused([&] { sharded_stock({{foreign, one}}, "x"); }, "sharded_stock", "fencing tokens");
    expect_refused([&] { token_keeper(foreign, one, "x", [] { return credential{}; }); }, "token_keeper",
                   "fencing tokens");
    client alone{"etcd://127.0.0.1:1?protocol=concurrency"};
    expect_refused([&] { single_flight{alone, one, "x"}; }, "single_flight", "shared locks");
    expect_refused([&] { write_through(alone, one, one, "x"); }, "consistent_cache", "shared locks");
    expect_refused([&] { token_keeper(alone, one, "x", [] { return credential{}; }); }, "token_keeper", "shared locks");
    client bound{"mysql://a@127.0.0.1:1/b?strategy=get_lock"};
    expect_refused([&] { once_per_period(bound, "x", 1h); }, "once_per_period", "detached claims");
}

}  // namespace
}  // namespace mortise::testing
