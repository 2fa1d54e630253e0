// Error codes and exceptions.
#pragma once

#include <mortise/config.hpp>

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// Every error of the library.
//
// | code           | when                                                          | equal to std::errc::            |
// |----------------|---------------------------------------------------------------|---------------------------------|
// | busy           | somebody else holds the lock, and the call does not wait      | device_or_resource_busy         |
// | timed_out      | the wait ended before the grant                               | timed_out                       |
// | cancelled      | the claim's stop_token was requested                          | operation_canceled              |
// | would_deadlock | the caller would wait for itself, or in a cycle of threads    | resource_deadlock_would_occur   |
// | lost           | the lease expired while held, or the lock was broken          | owner_dead                      |
// | not_owner      | unlock() or hold() by a caller that does not hold the lock    | operation_not_permitted         |
// | forked         | called in the child of a fork; create a client in the child   | no_child_process                |
// | closed         | the client was destroyed                                      | not_connected                   |
// | unreachable    | the store did not answer in time; the claim was withdrawn     | host_unreachable                |
// | kind_mismatch  | the name is in use with another capacity                      | wrong_protocol_type             |
// | unsupported    | the store does not promise what the claim requires            | not_supported                   |
// | no_token       | the store has no fencing tokens                               | not_supported                   |
// | invalid_name   | empty, over 200 bytes, not UTF-8, or with control characters  | invalid_argument                |
// | invalid_option | a duration, weight, capacity or label is out of range         | invalid_argument                |
// | bad_url        | the store's URL cannot be parsed                              | invalid_argument                |
// | unknown_store  | this build has no store with that scheme                      | invalid_argument                |
// | exhausted      | out of descriptors, memory or another resource                | resource_unavailable_try_again  |
// | denied         | the store rejected the password, certificate or permissions   | permission_denied               |
//
// The third column compares equal: `if (e.code() == std::errc::timed_out)`.
enum class errc {
    busy = 1,
    timed_out,
    cancelled,
    would_deadlock,
    lost,
    not_owner,
    forked,
    closed,
    unreachable,
    kind_mismatch,
    unsupported,
    no_token,
    invalid_name,
    invalid_option,
    bad_url,
    unknown_store,
    exhausted,
    denied,
};

// The name of the enumerator: "timed_out". For a sentence, use make_error_code(code).message().
MORTISE_API std::string_view to_string(errc) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, errc);

MORTISE_API const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

// The exception of the library. what() names the lock, the store, the problem and what to do about it; code() is an
// errc.
class MORTISE_API error : public std::system_error {
public:
    error(errc code, const std::string& detail) : error(make_error_code(code), detail) {}
    error(std::error_code code, const std::string& detail) : std::system_error(code), story_(detail) {}
    ~error() override;

    const char* what() const noexcept override { return story_.what(); }

private:
    std::runtime_error story_;  // a string that is copied without throwing
};

}  // namespace mortise::inline v0

template <>
struct std::is_error_code_enum<mortise::errc> : std::true_type {};
