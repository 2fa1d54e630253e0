// What a client says when it cannot have a lock.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis::servers {

// A secret of a test, to be looked for in everything that is said.
inline constexpr const char* canary = "canary-4711";

struct complaint {
    std::error_code code{};
    std::string what = "none: the lock was taken";
    std::chrono::nanoseconds after{};

    // For people: one line, that names the lock and betrays nothing.
    bool readable() const {
        return what.find('\n') == what.npos && what.find('\r') == what.npos && what.find(canary) == what.npos &&
               what.size() > 20 && what.size() < 900;
    }
    bool says(std::string_view words) const { return what.find(words) != what.npos; }
};

inline constexpr std::chrono::seconds long_patience{30};

// Tries to take a lock there.
inline complaint complaint_of(const std::string& url, client_options options = {.patience = long_patience}) {
    const auto begun = boot_clock::now();
    complaint heard;
    try {
        client locks{url, options};
        static_cast<void>(locks.acquire("orders"));
    } catch (const error& e) {
        heard.code = e.code();
        heard.what = e.what();
    }
    heard.after = boot_clock::now() - begun;
    return heard;
}

}  // namespace mortise::inline v0::stores::redis::servers
