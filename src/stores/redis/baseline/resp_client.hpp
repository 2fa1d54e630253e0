// A blocking RESP client: one connection, one command at a time, on the thread that calls.
#pragma once

#include "net/transport.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Everything blocks, for as long as the settings' timeout, and throws mortise::error.
class resp_client {
public:
    // On the server that keeps `key`.
    resp_client(const settings& config, std::string_view key);

    // Replies are good until the next command. Errors of the server are replies.
    const reply& ask(std::string_view bytes);
    void run(
        const script_call& what);  // by its source, if the server does not know it; an error of the server is thrown
    void send(std::string_view bytes);
    const reply& answer() { return read(false, false); }

    // The next push, however long that takes.
    const reply& next_push();

private:
    void connect(const endpoint& where, const std::string& user, const std::string& password);
    const reply& read(bool push, bool forever);
    void wait(short events, bool forever);

    const settings settings_;
    std::unique_ptr<net::transport> line_;
    reader input_;
    reply reply_;
};

}  // namespace mortise::inline v0::stores::redis
