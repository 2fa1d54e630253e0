// What a pattern needs of a store and of its callers, and the errors that say so.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/hold.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

// A pattern by its class and the name it was given: "single_flight 'pages'".
std::string called(std::string_view pattern, std::string_view name);

// A key in a message: keys may be any bytes of any length.
std::string shown(std::string_view key);

// Throws errc::invalid_option: what a caller has given, and what to give.
[[noreturn]] void refuse_option(std::string_view pattern, std::string_view name, const std::string& why);

// At construction. Throws errc::unsupported, in a sentence that names the pattern, the store and what it lacks.
void require(bool has, const client& locks, std::string_view pattern, const std::string& name, std::string_view need);
void require_tokens(const client& locks, std::string_view pattern, const std::string& name);
void require_shared(const client& locks, std::string_view pattern, const std::string& name);

// At construction. Throws errc::invalid_name if the pattern's name, or the longest of its locks' names, is none.
void require_name(client& locks, std::string_view pattern, const std::string& name, const std::string& lock);

// At construction. Throws errc::invalid_option if a lease that nobody renews cannot be so long, here or anywhere.
void require_lease(const client& locks, std::chrono::nanoseconds length, std::string_view option,
                   std::string_view pattern, const std::string& name);

// At construction. Throws errc::invalid_option if it is negative.
void require_wait(const std::optional<std::chrono::nanoseconds>& wait, std::string_view pattern,
                  const std::string& name);

// Throws errc::forked in a child of fork. To be called before a mutex of ours, which a thread of the parent may have locked, and
// before a storage of the caller's.
void refuse_child(const client& locks, std::string_view pattern, const std::string& name);

// A storage has refused a seal, or a write. If the holder has lost its lock, somebody else has taken over. If not, then waiting or
// trying again helps nobody: it says why.
[[noreturn]] void seal_refused(const hold& mine, std::string_view pattern, const std::string& name,
                               std::string_view key);
[[noreturn]] void write_refused(const hold& mine, std::string_view pattern, const std::string& name,
                                std::string_view key);

}  // namespace mortise::inline v0::patterns
