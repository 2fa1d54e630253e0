// One MariaDB server of a test.
#pragma once

#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql::servers {

// Starts with the user mortise, password "secret", who may do everything in databases whose names begin with "t".
class server {
public:
    // `more`: further options of mariadbd. `run_by`: a command that starts it, movable_clock::command(). It serves when this
    // returns.
    explicit server(std::vector<std::string> more = {}, std::vector<std::string> run_by = {});
    ~server();

    std::uint16_t port() const { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    const testing::server_group& home() const { return home_; }

    // The address of a database that is new, "mysql://mortise:secret@127.0.0.1:3306/t1".
    std::string fresh_url();
    std::string url_of(const std::string& database, const std::string& user = "mortise:secret") const;

    // As root: the rows that the statements return, columns with tabs between them. Throws if one fails.
    std::string run(const std::string& statements, const std::string& database = {}) const;

    void kill() { process_->kill(); }
    void stop();  // as an operator would, who waits until it is down
    void restart();
    void freeze() { process_->freeze(); }
    void thaw() { process_->thaw(); }
    bool running() const { return process_->running(); }

private:
    std::vector<std::string> arguments() const;
    void install();
    void await_ready();

    testing::server_group home_;
    const std::vector<std::string> more_;
    const std::vector<std::string> run_by_;
    std::uint16_t port_ = 0;
    std::unique_ptr<testing::server_process> process_;
    int databases_ = 0;
};

}  // namespace mortise::inline v0::stores::mysql::servers
