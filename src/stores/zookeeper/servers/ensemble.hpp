// ZooKeeper servers of a test: one alone, or several that elect a leader.
#pragma once

#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::zookeeper::servers {

// A server on ports of 127.0.0.1. A test may kill, restart, freeze and thaw it.
class server {
public:
    // The ports of all members; `number` is this one's, from 0.
    struct ports {
        std::uint16_t client = 0;
        std::uint16_t peers = 0;
        std::uint16_t election = 0;
    };
    server(const testing::server_group& home, std::size_t number, const std::vector<ports>& all, unsigned most_clients);

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    // What it answers to a word of four letters: "srvr", "ruok", "cons". Empty if it does not answer.
    std::string say(const std::string& word) const;
    std::string mode() const;  // "standalone", "leader", "follower", "read-only"; empty while it serves nobody
    bool serves() const;       // not only reads

    void kill() { process_.kill(); }
    void restart() { process_.start(); }
    void freeze() { process_.freeze(); }
    void thaw() { process_.thaw(); }
    bool running() const { return process_.running(); }
    std::string last_words() const { return process_.last_words(); }

private:
    static std::vector<std::string> command(const std::string& directory, std::size_t number,
                                            const std::vector<ports>& all, unsigned most_clients);

    const std::uint16_t port_;
    testing::server_process process_;
};

class ensemble {
public:
    // They serve when this returns. `most_clients`: maxClientCnxns; 0: any number.
    explicit ensemble(std::size_t members = 1, unsigned most_clients = 0);

    server& operator[](std::size_t i) { return *members_[i]; }
    std::size_t size() const { return members_.size(); }
    std::string addresses() const;  // "host:port,host:port"

    server* leader();      // none: nobody leads at the moment
    void await_serving();  // all of them; throws port_taken, or the last words of one that ended or takes too long

private:
    void start(std::size_t members, unsigned most_clients);

    testing::server_group home_;
    std::vector<std::unique_ptr<server>> members_;
};

}  // namespace mortise::inline v0::stores::zookeeper::servers
