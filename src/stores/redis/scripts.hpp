// The scripts that run inside the server. Their sources are in lua/.
#pragma once

#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

struct script {
    std::string source;
    std::string sha;  // 40 hex digits, for EVALSHA
    bool takes;       // a claim
    unsigned number;  // in scripts

    explicit script(std::string text, bool claims = false, unsigned which = 0);
    bool brief() const noexcept { return source.size() < 1000; }  // it fits into a packet with its arguments
};

// Made on first use; never destroyed.
struct scripts {
    script claim;
    script release;
    script renew;
    script heartbeat;
    script break_hold;
    script raise;
    script recall;
    script show;
    script clock_ahead;
    script rights;
    script setnx_claim;
    script setnx_release;
    script setnx_renew;
    script redisson_claim;
    script redisson_write;
    script redisson_read;
    script redisson_release;
    script redisson_renew;
    script redisson_fair_claim;
    script redisson_fair_release;

    static const scripts& all();
};

// The files, word for word. They run once spliced() (record_layout.hpp) has put the layouts in.
namespace lua {
extern const std::string_view state;
extern const std::string_view fast_claim;
extern const std::string_view claim;
extern const std::string_view fast_release;
extern const std::string_view release;
extern const std::string_view renew;
extern const std::string_view heartbeat;
extern const std::string_view break_hold;
extern const std::string_view raise;
extern const std::string_view recall;
extern const std::string_view show;
extern const std::string_view clock_ahead;
extern const std::string_view rights;
extern const std::string_view setnx_claim;
extern const std::string_view setnx_release;
extern const std::string_view setnx_renew;
extern const std::string_view redisson_state;
extern const std::string_view redisson_claim;
extern const std::string_view redisson_write;
extern const std::string_view redisson_read;
extern const std::string_view redisson_release;
extern const std::string_view redisson_renew;
extern const std::string_view redisson_line;
extern const std::string_view redisson_fair_claim;
extern const std::string_view redisson_fair_release;
}  // namespace lua

std::string sha1_of(std::string_view text);  // in hex

}  // namespace mortise::inline v0::stores::redis
