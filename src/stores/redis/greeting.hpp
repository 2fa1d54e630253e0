// What is said first on a connection, and what follows from the answers. Pure.
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

// Where a connection leads, and as whom.
struct connection_plan {
    endpoint where;         // port 0: not known yet
    std::string unknown{};  // what to say then
    std::string user{};
    std::string password{};
    int database = 0;
    std::string inbox{};  // a channel to subscribe to; empty: none
    bool greets = true;   // false: speaks to a sentinel, which has no roles, no databases and no scripts
    bool masters_only = true;
    bool durable = false;   // WAIT is sent on it, after scripts that cannot be undone then
    bool waited_on = true;  // callers wait() for its answers; else the io thread reads them
};

// All questions go out at once, so that it costs one round trip: who we are; the database; the inbox; whether the user may do
// what scripts do; and, for strict clients, how the server is set up.
class greeting {
public:
    greeting() = default;
    greeting(const settings& how, const connection_plan& plan);

    const std::string& bytes() const { return bytes_; }

    // The next answer. Trouble: the connection is of no use.
    std::optional<trouble> take(const reply& said);
    bool complete() const { return due_.empty(); }

    // Why a strict client should claim nothing here.
    const std::string& flaw() const { return flaw_; }

private:
    enum class question { who, database, inbox, rights, setup };
    std::optional<trouble> refused(question about, const std::string& text) const;
    std::optional<trouble> known(const reply& said) const;
    std::optional<trouble> allowed(const reply& said) const;

    settings how_;
    connection_plan plan_;
    std::string bytes_;
    std::vector<right> asked_;
    std::deque<question> due_;
    std::string flaw_;
};

}  // namespace mortise::inline v0::stores::redis
