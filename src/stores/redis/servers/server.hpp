// One Redis server of a test.
#pragma once

#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// A redis-server or a sentinel on a port of 127.0.0.1. It keeps nothing on disk unless its configuration says so. A test may
// kill, restart, freeze and thaw it; what follows from that takes the time that Redis takes.
class server {
public:
    struct setup {
        std::string name;          // of its directory in the group's
        std::uint16_t port = 0;    // free_port()
        bool tls = false;          // on that port
        bool is_sentinel = false;  // a watcher, not a store
        std::vector<std::string> lines{};
        std::vector<std::string> run_by{};  // a command that starts it: movable_clock::command()
        std::string user{};                 // for command()
        std::string password{};
    };
    server(const testing::server_group& home, setup how);

    std::uint16_t port() const { return settings_.port; }
    std::string address() const { return "127.0.0.1:" + std::to_string(settings_.port); }

    // Several can be started at once, and then waited for. Throws port_taken, or what the server said before it ended.
    void await_ready();
    bool ready();

    void kill() { process_.kill(); }
    void restart();  // on the same port, with the same files; ready when this returns
    void freeze() { process_.freeze(); }
    void thaw() { process_.thaw(); }
    bool running() const { return process_.running(); }
    bool awake() const { return running() && !process_.frozen(); }

    // What it answers, past its port and its network; the elements of arrays are lines. Throws for an error, and if it does
    // not answer within ten seconds.
    std::string command(const std::vector<std::string>& words);

    // A field of an answer that has lines "field:value": "master" of {"info", "replication"} and "role".
    std::string field(const std::vector<std::string>& words, const std::string& name);

private:
    std::vector<std::string> write_configuration() const;
    std::string directory() const { return home_ / settings_.name; }
    std::string socket() const { return directory() + "/socket"; }

    const testing::server_group& home_;
    const setup settings_;
    testing::server_process process_;
};

using fleet = std::vector<std::unique_ptr<server>>;

}  // namespace mortise::inline v0::stores::redis::servers
