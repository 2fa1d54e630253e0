// Releases and ends of waits that get nowhere: the only way to the store is silent meanwhile.
#pragma once

#include "checker/faults/tcp_proxy.hpp"
#include "checker/history/audit.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::testing {

struct silence_plan {
    tcp_proxy& way_there;
    std::string through{};  // an address that leads over it
    std::string past{};     // and one that does not
    std::function<std::vector<spi::stored_claim>()> stored{};
    std::chrono::nanoseconds lease{};
    std::chrono::nanoseconds silence{};
    std::chrono::nanoseconds bound{};
    std::size_t names = 15;
};

// One client holds half of the names and waits for the others. It releases and gives up everything during a silence that begins
// right after it was last heard. What is found when it is heard again, and lives on.
inline audit_verdict leave_in_silence(const silence_plan& what) {
    std::atomic<std::size_t> ended{0};
    client near{what.through};
    client others{what.past};
    std::vector<hold> held;
    std::vector<hold> in_the_way;
    std::stop_source giving_up;
    for (std::size_t i = 0; i < what.names; ++i) {
        const std::string name = "silent " + std::to_string(i);
        if (i % 2 == 0) {
            held.push_back(near.acquire(name, {.lease = what.lease}));
        } else {
            in_the_way.push_back(others.acquire(name));
            near.start({.name = name, .options = {.lease = what.lease, .stop = giving_up.get_token()}},
                       [&](const attempt&) { ++ended; });
        }
    }
    static_cast<void>(eventually([&] { return what.stored().size() >= what.names + in_the_way.size(); }));

    const std::size_t before = what.way_there.bytes_seen(way::to_server);  // what is sent next keeps its leases alive
    static_cast<void>(eventually([&] { return what.way_there.bytes_seen(way::to_server) > before; }));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    for (const way each : {way::to_server, way::to_client}) what.way_there.swallow(each);
    for (hold& one : held) one.start_release([](release_result, std::error_code) {});
    giving_up.request_stop();
    std::this_thread::sleep_for(what.silence);
    for (const way each : {way::to_server, way::to_client}) what.way_there.swallow(each, false);
    what.way_there.cut();
    in_the_way.clear();
    return audit(what.bound, what.stored, [&] { return admitted_by({&near, &others}); });
}

}  // namespace mortise::testing
