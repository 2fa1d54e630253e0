// Which locks of patterns this thread is inside of: a function of the caller's that asks for the same one would wait for itself.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

class inside {
public:
    inside(const client& locks, std::string_view lock);
    ~inside();
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

    // Whether this thread is, through whichever object and client.
    static bool of(const client& locks, std::string_view lock);
};

// Throws errc::would_deadlock if it is. An empty key: the pattern has one lock.
void refuse_reentry(const client& locks, std::string_view lock, std::string_view pattern, const std::string& name,
                    std::string_view key);

}  // namespace mortise::inline v0::patterns
