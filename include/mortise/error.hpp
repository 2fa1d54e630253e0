// Every way in which Mortise can say no.
#pragma once

#include <mortise/config.hpp>

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// | code           | when                                                        | equal to std::errc::            |
// |----------------|-------------------------------------------------------------|---------------------------------|
// | busy           | held by somebody else and we were asked not to wait         | device_or_resource_busy         |
// | timed_out      | the wait ended before the grant                             | timed_out                       |
// | cancelled      | the stop_token of the claim was requested                   | operation_canceled              |
// | would_deadlock | it would wait for itself, or in a circle with other threads | resource_deadlock_would_occur   |
// | lost           | the lease ended below the caller                            | owner_dead                      |
// | not_owner      | unlock or hold() by somebody who holds nothing here         | operation_not_permitted         |
// | forked         | called in the child of a fork; make a client of its own     | no_child_process                |
// | closed         | the client was destroyed                                    | not_connected                   |
// | unreachable    | the store did not answer in time; the claim was withdrawn   | host_unreachable                |
// | kind_mismatch  | another claim uses this name with another capacity          | wrong_protocol_type             |
// | unsupported    | this store does not promise what the claim demands          | not_supported                   |
// | no_token       | this store has no fencing tokens                            | not_supported                   |
// | invalid_name   | empty, over 200 bytes, control characters, not UTF-8        | invalid_argument                |
// | invalid_option | a duration, weight, capacity or label out of range          | invalid_argument                |
// | bad_url        | the store's address cannot be read                          | invalid_argument                |
// | unknown_store  | no store with that scheme in this build                     | invalid_argument                |
// | exhausted      | a limit of the machine or the store (descriptors, memory)   | resource_unavailable_try_again  |
// | denied         | the store does not accept our password, certificate, rights | permission_denied               |
//
// The third column holds with ==: `if (e.code() == std::errc::timed_out)`.
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

// As it is written in code: "timed_out". The sentence is make_error_code(code).message().
MORTISE_API std::string_view to_string(errc) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, errc);

MORTISE_API const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

// What lock() and its like throw. what() names the lock, the store and what to do about it;
// code() is one of the above.
class MORTISE_API error : public std::system_error {
public:
    error(errc code, const std::string& detail) : error(make_error_code(code), detail) {}
    error(std::error_code code, const std::string& detail) : std::system_error(code), story_(detail) {}
    ~error() override;

    const char* what() const noexcept override { return story_.what(); }

private:
    std::runtime_error story_;  // a string whose copies never throw
};

}  // namespace mortise::inline v0

template <>
struct std::is_error_code_enum<mortise::errc> : std::true_type {};
