// Seeing what the locks do: metrics, logs, the command and the tests are all observers.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// | event    | what happened                                               | reason          | took               |
// |----------|-------------------------------------------------------------|-----------------|--------------------|
// | claimed  | a call asked for the name                                   |                 |                    |
// | waited   | it was not granted at once and joined the queue             |                 |                    |
// | granted  | it holds                                                    |                 | from call to grant |
// | refused  | it does not                                                 | why             | from call to answer|
// | renewed  | the store extended the lease                                |                 | slack that was left|
// | at_risk  | a renewal was not confirmed; retried until the deadline     | why             | time left          |
// | lost     | the hold ended below its owner; logged even if std-guarded  | why             |                    |
// | released | given back; `reason` is set when it was no longer ours      | lost, not_owner,| time held          |
// |          |                                                             | unreachable     |                    |
// | retried  | a request to the store was repeated with the same id        | why             |                    |
enum class event_kind { claimed, waited, granted, refused, renewed, at_risk, lost, released, retried };

MORTISE_API std::string_view to_string(event_kind) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, event_kind);

struct event {
    event_kind kind{};
    std::string name{};
    mortise::token token{};  // zero before the grant
    std::error_code reason{};
    std::chrono::nanoseconds took{};
    boot_clock::time_point at{};
    std::uint64_t dropped_before = 0;  // events not delivered because the observer was too slow
};

// on_event runs on the client's notifier thread, one event at a time, in order. It may block without delaying a
// renewal; if it falls 65,536 events behind, further ones are dropped and counted. What it throws is swallowed.
class MORTISE_API observer {
public:
    virtual ~observer();
    virtual void on_event(const event&) = 0;
};

}  // namespace mortise::inline v0
