// The first commands on a connection, and what follows from their replies. Pure.
#pragma once

#include "net/trouble.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/rights.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

using net::trouble;

// The server to connect to, and as which user.
struct connection_plan {
    endpoint where;         // port 0: unknown yet
    std::string unknown{};  // the error in that case
    std::string user{};
    std::string password{};
    int database = 0;
    std::string inbox{};  // a channel to subscribe to; empty: none
    bool greets = true;   // false: a sentinel, which has no roles, databases or scripts
    bool masters_only = true;
    bool durable = false;   // for WAIT, which follows scripts that cannot be undone
    bool waited_on = true;  // callers wait() for its replies; else the io thread reads them
};

// All commands are sent at once, in one round trip: HELLO, SELECT, SUBSCRIBE to the inbox, a check of what scripts may do,
// INFO for strict clients and, with protocol=setnx, whether keys are told of.
class handshake {
public:
    handshake() = default;
    handshake(const settings& config, const connection_plan& plan);

    const std::string& bytes() const { return bytes_; }

    // The next reply. Trouble: the connection cannot be used.
    std::optional<trouble> take(const reply& answer);
    bool complete() const { return due_.empty(); }

    // Why a strict client must not claim here.
    const std::string& flaw() const { return flaw_; }
    // The server tells when a key is deleted or expires; asked for protocol=setnx, where waiters listen to that.
    bool notifies() const { return notifies_; }

private:
    enum class step { hello, database, inbox, rights, setup, notices };
    std::optional<trouble> refused(step about, const std::string& text) const;
    std::optional<trouble> known(const reply& answer) const;
    std::optional<trouble> allowed(const reply& answer) const;

    settings settings_;
    connection_plan plan_;
    std::string bytes_;
    std::vector<right> asked_;
    std::deque<step> due_;
    std::string flaw_;
    bool notifies_ = false;
};

}  // namespace mortise::inline v0::stores::redis
