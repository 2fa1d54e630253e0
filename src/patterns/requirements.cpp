#include "patterns/requirements.hpp"

#include "patterns/limits.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/promises.hpp>

#include <algorithm>

namespace mortise::inline v0::patterns {
namespace {

[[noreturn]] void taken_over(std::string_view pattern, const std::string& name, std::string_view key) {
    throw error(errc::lost, called(pattern, name) + ": another holder has taken over " + shown(key) +
                                ", because this one was paused for longer than its lease; nothing was written");
}

}  // namespace

std::string called(std::string_view pattern, std::string_view name) {
    return std::string(pattern) + " '" + std::string(name) + "'";
}

std::string shown(std::string_view key) {
    constexpr std::size_t enough = 60;
    std::string text{key.substr(0, enough)};
    std::ranges::replace_if(
        text, [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
    return "'" + text + (key.size() > enough ? "...'" : "'");
}

void refuse_option(std::string_view pattern, std::string_view name, const std::string& why) {
    throw error(errc::invalid_option, called(pattern, name) + ": " + why);
}

void require(bool has, const client& locks, std::string_view pattern, const std::string& name, std::string_view need) {
    if (has) return;
    throw error(errc::unsupported, called(pattern, name) + " needs a store with " + std::string(need) + ", and " +
                                       locks.store() + " (" + locks.promises().store +
                                       ") has none; docs/guarantees.md lists the stores that do");
}

void require_tokens(const client& locks, std::string_view pattern, const std::string& name) {
    require(locks.promises().tokens, locks, pattern, name, "fencing tokens");
}

void require_shared(const client& locks, std::string_view pattern, const std::string& name) {
    require(locks.promises().most_capacity > 1, locks, pattern, name, "shared locks");
}

void require_name(client& locks, std::string_view pattern, const std::string& name, const std::string& lock) {
    if (name.empty()) throw error(errc::invalid_name, std::string(pattern) + " needs a name");
    try {
        const mutex checked{locks, lock};
    } catch (const error& e) {
        throw error(e.code(), std::string(pattern) + ": " + e.what());
    }
}

void require_lease(const client& locks, std::chrono::nanoseconds length, std::string_view option,
                   std::string_view pattern, const std::string& name) {
    const std::chrono::nanoseconds most =
        std::min(locks.promises().longest_lease.value_or(longest_lease), longest_lease);
    if (length >= shortest_lease && length <= most) return;
    const auto in_milliseconds = [](std::chrono::nanoseconds time) {
        return std::to_string(time / std::chrono::milliseconds{1}) + " ms";
    };
    const std::string limit = most == longest_lease ? "24 h" : in_milliseconds(most) + " on " + locks.store();
    refuse_option(pattern, name, std::string(option) + " of " + in_milliseconds(length) + ": use 100 ms to " + limit);
}

void require_wait(const std::optional<std::chrono::nanoseconds>& wait, std::string_view pattern,
                  const std::string& name) {
    if (wait && *wait < wait->zero()) refuse_option(pattern, name, "wait must not be negative");
}

void refuse_child(const client& locks, std::string_view pattern, const std::string& name) {
    if (!locks.forked()) return;
    throw error(errc::forked, called(pattern, name) + ": " + make_error_code(errc::forked).message());
}

void seal_refused(const hold& mine, std::string_view pattern, const std::string& name, std::string_view key) {
    if (!mine.valid()) taken_over(pattern, name, key);
    throw error(errc::lost, called(pattern, name) + ": " + shown(key) +
                                " is sealed with a larger token than the lock store gives. The lock was broken, or the "
                                "store has lost its counters: then give the storage another prefix");
}

void write_refused(const hold& mine, std::string_view pattern, const std::string& name, std::string_view key) {
    if (!mine.valid()) taken_over(pattern, name, key);
    throw error(errc::lost, called(pattern, name) + ": the storage has forgotten the seal of " + shown(key) +
                                " since this caller set it, or the lock was broken; nothing was written. Try again");
}

}  // namespace mortise::inline v0::patterns
