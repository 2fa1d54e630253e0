// A PostgreSQL server of a test.
#pragma once

#include "stores/postgres/servers/console.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::postgres::servers {

// It has a superuser `postgres` with the password `secret`, and keeps its files in memory where there is room. A test that runs
// as root starts it as the user `postgres`, since the server refuses to run as root.
class server {
public:
    struct setup {
        std::vector<std::string> more{};  // "max_connections=10"
        std::string access{};             // lines of pg_hba.conf, before ours
        const server* replica_of = nullptr;
    };
    explicit server(setup how);
    server() : server(setup{}) {}
    ~server();

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string directory() const { return home_ / "data"; }
    std::string file(const std::string& name) const { return home_ / name; }

    // "postgres://postgres:secret@127.0.0.1:5432/postgres?"; `port`: of a proxy.
    std::string url(const std::string& options, std::uint16_t port) const;
    std::string url(const std::string& options) const { return url(options, port_); }

    console open_console(const std::string& user = "postgres", const std::string& password = "secret",
                         const std::string& database = "postgres") const;

    void kill() { process_->kill(); }  // as a crash of the machine would
    void stop();                       // sessions are ended, and told why
    void start();                      // ready when it returns
    bool running() const { return process_->running(); }

    // Gives the file to the user that the server runs as, readable for nobody else.
    void hand_over(const std::string& path) const;

private:
    void initialise(const setup& how);
    void await_ready();

    testing::server_group home_;
    setup setup_;
    std::uint16_t port_ = 0;
    std::unique_ptr<testing::server_process> process_;
};

}  // namespace mortise::inline v0::stores::postgres::servers
