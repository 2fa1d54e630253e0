#include "stores/redis/uptime.hpp"

#include "base/told_span.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/server_info.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace mortise::inline v0::stores::redis {

void ask_uptime(router& servers, spi::reply<std::optional<spi::duration>> done) {
    const auto masters = servers.masters();
    if (masters.size() != 1) return done(std::nullopt);
    std::string bytes;
    command{bytes, 2} << "INFO"
                      << "server";
    masters.front()->send(bytes, [done = std::move(done)](const reply& answer) mutable {
        if (answer.is != reply::kind::text) return done(std::nullopt);
        const server_info info = server_info::of(answer.text);
        if (!info.has("uptime_in_seconds")) return done(std::nullopt);
        done(base::told_span<std::chrono::seconds>(info.number("uptime_in_seconds")));
    });
}

}  // namespace mortise::inline v0::stores::redis
