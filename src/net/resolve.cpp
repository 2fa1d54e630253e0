#include "net/resolve.hpp"

#include "base/quiet_thread.hpp"

#include <cstring>
#include <memory>

#include <netdb.h>

namespace mortise::inline v0::net {
namespace {

std::vector<resolved_address> look_up(const endpoint& where, bool numeric, std::string& why) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : AI_ADDRCONFIG);
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &wanted, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
    std::vector<resolved_address> all;
    if (failed != 0) {
        why = ::gai_strerror(failed);
        return all;
    }
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        resolved_address& next = all.emplace_back();
        std::memcpy(&next.where, one->ai_addr, one->ai_addrlen);
        next.length = one->ai_addrlen;
    }
    return all;
}

}  // namespace

void resolve(const endpoint& where, std::function<void(std::vector<resolved_address>, std::string)> done) {
    std::string why;
    if (auto numbers = look_up(where, true, why); !numbers.empty()) return done(std::move(numbers), {});
    try {
        base::quiet_thread("mortise-dns", [where, done] {
            std::string failed;
            auto all = look_up(where, false, failed);
            if (all.empty() && failed.empty()) failed = "no address";
            done(std::move(all), std::move(failed));
        }).detach();
    } catch (const std::exception& e) {
        done({}, e.what());
    }
}

}  // namespace mortise::inline v0::net
