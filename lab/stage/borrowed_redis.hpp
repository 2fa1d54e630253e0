// Somebody's own Redis, lent to the lab.
#pragma once

#include "lab/stage/raw_redis.hpp"
#include "lab/stage/redis_address.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace lab {

struct story;

// Its time is its own: the stage waits. All keys of a run have one random prefix, and exactly those are deleted, also when the
// run is interrupted.
class borrowed_redis {
public:
    // Throws command::failure for a URL that it cannot use, for a server that does not answer like Redis within `patience`, and for a
    // database that is not empty, unless that is allowed.
    borrowed_redis(const std::string& url, bool allow_non_empty, std::chrono::nanoseconds patience);
    ~borrowed_redis();
    borrowed_redis(const borrowed_redis&) = delete;
    borrowed_redis& operator=(const borrowed_redis&) = delete;

    const redis_address& address() const { return address_; }
    void clear();  // of the keys of this run

    // Why a story cannot be played here; empty: it can.
    static std::string refusal(const story& next);

    // Until the server's clock has gone on so far; the server ends the waits. Calls `meanwhile` about once a second with the time
    // that has passed.
    void wait(std::chrono::nanoseconds by, const std::function<void(std::chrono::nanoseconds)>& meanwhile);

private:
    std::chrono::microseconds now();

    const redis_address address_;
    raw_redis hand_;
};

}  // namespace lab
