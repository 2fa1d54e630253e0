// Includes go down the layers, never up or across.
#include "tree/layers.hpp"

#include "tree/repository.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace {

using tree::objection;

TEST(layers, no_include_goes_the_wrong_way) {
    std::size_t seen = 0;
    for (const std::string& file : tree::files()) {
        if (!file.ends_with(".cpp") && !file.ends_with(".hpp")) continue;
        std::ifstream in{tree::root() / file};
        std::string line;
        for (int number = 1; std::getline(in, line); ++number, ++seen) {
            if (auto why = objection(file, line))
                ADD_FAILURE() << file << ":" << number << ": " << line << "\n  " << *why;
        }
    }
    EXPECT_GT(seen, 1000U) << "this test read almost nothing of " << tree::root();
}

TEST(layers, every_row_is_about_something_that_exists) {
    const auto files = tree::files();
    for (const tree::layer& each : tree::layers()) {
        const std::string folder{each.folder};
        const std::size_t star = folder.find('*');  // of any store
        const auto is_in_it = [&](const std::string& file) {
            if (star == folder.npos) return file == folder || file.starts_with(folder + "/");
            const std::string rest = folder.substr(star + 1) + "/";
            return file.starts_with(folder.substr(0, star)) && file.find(rest, star) == file.find('/', star);
        };
        EXPECT_TRUE(std::any_of(files.begin(), files.end(), is_in_it)) << folder;
    }
}

struct specimen {
    const char* file;
    const char* line;
};

TEST(layers, the_checker_convicts_what_is_forbidden) {
    const specimen bad[] = {
        {"include/mortise/mutex.hpp", "#include <mortise/spi/store.hpp>"},
        {"include/mortise/mutex.hpp", "#include <boost/asio.hpp>"},
        {"include/mortise/mortise.hpp", "#include <mortise/asio.hpp>"},
        {"include/mortise/client.hpp", "#include <mortise/asio/operation.hpp>"},
        {"examples/hello.cpp", "#include <mortise/asio.hpp>"},
        {"include/mortise/mutex.hpp", "#include <unistd.h>"},
        {"include/mortise/mutex.hpp", "#include \"core/engine.hpp\""},
        {"include/mortise/spi/store.hpp", "#include \"base/url.hpp\""},
        {"src/base/url.cpp", "#include \"core/lease.hpp\""},
        {"src/base/url.cpp", "  #  include\t\"core/lease.hpp\""},
        {"src/base/url.cpp", "#include \"../core/lease.hpp\""},
        {"src/base/url.cpp", "#include HEADER"},
        {"src/core/lease.cpp", "#include \"locks/mutex.hpp\""},
        {"src/core/lease.cpp", "#include \"stores/memory/memory_store.hpp\""},
        {"src/core/lease.cpp", "#include <hiredis/hiredis.h>"},
        {"src/locks/mutex.cpp", "#include \"stores/memory/memory_store.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"core/lease.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"stores/memory/memory_store.hpp\""},
        {"src/stores/redis/redis_store_test.cpp", "#include \"stores/memory/memory_store.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"checker/sim/sim_clock.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"stores/redis/servers/single.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"stores/redis/fixture.hpp\""},
        {"src/stores/redis/servers/single.cpp", "#include \"stores/memory/memory_store.hpp\""},
        {"src/stores/redlock/fixture.cpp", "#include \"stores/redis/names.hpp\""},
        {"src/stores/redlock/redlock_store.cpp", "#include \"stores/redis/servers/server.hpp\""},
        {"src/stores/sql/connection.cpp", "#include \"stores/postgres/postgres_store.hpp\""},
        {"src/stores/sql/connection.cpp", "#include <libpq-fe.h>"},
        {"src/stores/redis/redis_store.cpp", "#include \"stores/redis/baseline/baselines.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"baseline/baseline.hpp\""},
        {"src/stores/redis/baseline/baselines.cpp", "#include \"stores/etcd/baseline/http_get.hpp\""},
        {"src/stores/redis/baseline/baselines.cpp", "#include \"stores/redis/fixture.hpp\""},
        {"src/baseline/baseline.cpp", "#include \"stores/redis/settings.hpp\""},
        {"tools/run.cpp", "#include \"baseline/baseline.hpp\""},
        {"tools/mortise/bench/bench.cpp", "#include \"base/url.hpp\""},
        {"src/core/servers/x.cpp", "#include \"checker/sim/sim_clock.hpp\""},
        {"tools/run.cpp", "#include \"checker/faults/tcp_proxy.hpp\""},
        {"checker/history/audit.cpp", "#include \"core/engine.hpp\""},
        {"tools/run.cpp", "#include \"core/engine.hpp\""},
        {"tools/run.cpp", "#include <mortise/spi/client.hpp>"},
        {"examples/first.cpp", "#include <mortise/spi/client.hpp>"},
        {"src/base/url.cpp", "#include \"nowhere/x.hpp\""},
        {"elsewhere/x.cpp", "#include <vector>"},
    };
    for (const auto& [file, line] : bad) EXPECT_TRUE(objection(file, line)) << file << ": " << line;
}

TEST(layers, the_checker_acquits_what_is_allowed) {
    const specimen good[] = {
        {"include/mortise/mutex.hpp", "#include <mortise/client.hpp>"},
        {"include/mortise/mutex.hpp", "#include <string_view>"},
        {"include/mortise/mutex.hpp", "// #include <boost/asio.hpp>"},
        {"include/mortise/mutex.hpp", "#pragma once"},
        {"include/mortise/spi/store.hpp", "#include <mortise/spi/clock.hpp>"},
        {"src/base/clock.cpp", "#include <sys/timerfd.h>"},
        {"src/base/url.cpp", "#include \"base/text.hpp\""},
        {"src/core/lease.cpp", "#include \"base/url.hpp\""},
        {"src/locks/mutex.cpp", "#include \"core/engine.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include <hiredis/hiredis.h>"},
        {"src/stores/postgres/postgres_store.cpp", "#include \"stores/sql/connection.hpp\""},
        {"src/stores/postgres/fixture.cpp", "#include \"stores/sql/connection.hpp\""},
        {"src/stores/redis/fixture.cpp", "#include \"stores/redis/servers/single.hpp\""},
        {"src/stores/redis/servers/single.cpp", "#include \"support/server_group.hpp\""},
        {"src/stores/redis/servers/single.hpp", "#include \"stores/redis/names.hpp\""},
        {"src/stores/redlock/servers/nodes.hpp", "#include \"stores/redis/servers/server.hpp\""},
        {"src/stores/redlock/redlock_store_test.cpp", "#include \"stores/redis/servers/server.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"stores/redis/pool.hpp\""},
        {"src/stores/redis/redis_store.cpp", "#include \"pool.hpp\""},
        {"src/stores/redis/redis_store_test.cpp", "#include \"checker/sim/sim_clock.hpp\""},
        {"src/stores/redis/redis_store_test.cpp", "#include <gtest/gtest.h>"},
        {"src/stores/redis/baseline/baselines.cpp", "#include \"stores/redis/settings.hpp\""},
        {"src/stores/redis/baseline/baselines.cpp", "#include \"baseline/baseline.hpp\""},
        {"src/stores/redis/fixture.cpp", "#include \"stores/redis/baseline/resp_client.hpp\""},
        {"src/stores/redis/rights_test.cpp", "#include \"stores/redis/baseline/resp_client.hpp\""},
        {"tools/mortise/bench/scenario.hpp", "#include \"baseline/baseline.hpp\""},
        {"tools/mortise/bench/bench.cpp", "#include \"tools/mortise/json.hpp\""},
        {"tests/core/lease_test.cpp", "#include \"core/lease.hpp\""},
        {"tools/run.cpp", "#include <mortise/mortise.hpp>"},
    };
    for (const auto& [file, line] : good) {
        EXPECT_EQ(objection(file, line).value_or("nothing"), "nothing") << file << ": " << line;
    }
}

}  // namespace
