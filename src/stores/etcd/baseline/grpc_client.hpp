// A blocking gRPC client: one connection, one request at a time, on the thread that calls.
#pragma once

#include "net/transport.hpp"
#include "stores/etcd/grpc_session.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// Throws mortise::error when anything fails.
class grpc_client {
public:
    explicit grpc_client(const settings& how);  // connects to the first member

    std::string ask(const char* method, const std::string& request);

    // One stream at most.
    void open(const char* method, const std::string& first);
    std::string next_message();  // waits for ever

private:
    void wait_for(short events, bool forever);
    void send();
    void read(bool forever);

    const settings settings_;
    std::unique_ptr<net::transport> line_;
    grpc_session session_;
    std::string token_;
    grpc_session::number asked_ = 0;
    std::optional<ending> end_;
    std::string answer_;
    grpc_session::number stream_ = 0;
    std::deque<std::string> messages_;
    bool stream_over_ = false;

    std::string out_;
    std::vector<grpc_session::event> events_;
    std::array<char, 16384> room_{};
};

}  // namespace mortise::inline v0::stores::etcd
