// What can be done to any server that keeps its data: it is frozen, or killed and started again.
#pragma once

#include <mortise/spi/fixture.hpp>

#include <functional>
#include <string>
#include <vector>

namespace mortise::testing {

// `ready` returns when the server, started again, serves. The server outlives them.
template <class Server>
std::vector<spi::server_fault> frozen_and_killed(
    Server& one, const std::function<void()>& ready = [] {}) {
    return {{.name = "server frozen",
             .strike =
                 [&one] {
                     one.freeze();
                     return one.running();
                 },
             .heal =
                 [&one] {
                     const bool lives = one.running();
                     one.thaw();
                     return lives;
                 }},
            {.name = "server killed",
             .strike =
                 [&one] {
                     one.kill();
                     return !one.running();
                 },
             .heal =
                 [&one, ready] {
                     one.restart();
                     ready();
                     return one.running();
                 }}};
}

}  // namespace mortise::testing
