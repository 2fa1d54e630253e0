// One etcd member of a test.
#pragma once

#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd::servers {

// A test may kill, restart, freeze and thaw it; what follows from that takes the time that etcd takes.
class server {
public:
    struct setup {
        std::string name;  // of its directory in the group's
        std::uint16_t port = 0;
        std::uint16_t peer_port = 0;
        std::string cluster{};  // "name=http://...,..."; empty: it is alone
        std::vector<std::string> more{};
        bool tls = false;
        std::string options{};  // of etcdctl
    };
    server(const testing::server_group& home, setup how);

    std::uint16_t port() const { return settings_.port; }
    std::string address() const { return "127.0.0.1:" + std::to_string(settings_.port); }

    void await_ready();  // throws port_taken, or what it said before it ended
    bool ready();

    void kill() { process_.kill(); }
    void restart();
    void freeze() { process_.freeze(); }
    void thaw() { process_.thaw(); }
    bool running() const { return process_.running(); }

    // What etcdctl prints for a command of a shell, "get --prefix a". Throws if it fails.
    std::string command(const std::string& words) const;

private:
    std::vector<std::string> arguments() const;
    std::string directory() const { return home_ / settings_.name; }

    const testing::server_group& home_;
    const setup settings_;
    testing::server_process process_;
};

}  // namespace mortise::inline v0::stores::etcd::servers
