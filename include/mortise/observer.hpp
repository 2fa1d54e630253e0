// Events of locks, for metrics and logs.
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

// What an event reports, and what its `reason` and `took` mean.
//
// | event    | what happened                                           | reason                       | took                |
// |----------|---------------------------------------------------------|------------------------------|---------------------|
// | claimed  | a call claimed the name                                 |                              |                     |
// | waited   | the claim was not granted at once and waits             |                              |                     |
// | granted  | the claim was granted                                   |                              | from call to grant  |
// | refused  | the claim was refused                                   | why                          | from call to answer |
// | renewed  | the lease was renewed                                   |                              | time that was left  |
// | at_risk  | a renewal was not confirmed; retried until the deadline | why                          | time left           |
// | lost     | the lease expired while held, or the lock was broken    | why                          |                     |
// | released | the lock was released; `reason`: it was no longer held  | lost, not_owner, unreachable | time held           |
// | retried  | a request to the store was repeated with the same id    | why                          |                     |
// | retried  | its turn or place passed unanswered, and it asks anew   | lost                         |                     |
enum class event_kind { claimed, waited, granted, refused, renewed, at_risk, lost, released, retried };

MORTISE_API std::string_view to_string(event_kind) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, event_kind);

// Something that happened to a lock of a client.
struct event {
    event_kind kind{};
    std::string name{};
    mortise::token token{};  // zero before the grant
    std::error_code reason{};
    std::chrono::nanoseconds took{};
    boot_clock::time_point at{};
    std::uint64_t dropped_before = 0;  // events not delivered because the observer was too slow
};

// Receives the events of a client (client_options::observer). on_event runs on the client's notifier thread, one event
// at a time, in order. It may block without delaying renewals; if it falls 65,536 events behind, further events are
// dropped and counted. Its exceptions are ignored.
class MORTISE_API observer {
public:
    virtual ~observer();
    virtual void on_event(const event&) = 0;
};

}  // namespace mortise::inline v0
