// What shall go wrong, told by a test to a faulty store.
#pragma once

#include "checker/faults/fault_gate.hpp"

#include <mortise/claim_id.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace mortise::testing {

enum class verb { claim, renew, release, push, raise };  // raise: also what is remembered of tokens

enum class fault { none, lose_request, lose_reply, fail, fail_after, duplicate };

// Shared by the test, which writes it, and the stores, which obey it; safe from any thread.
//
// Faults of a verb are a script: they strike in the order in which they were asked for, one per call, and then all is
// well again. A batch of renewals is one call.
//
//     plan->fail(verb::renew, 5);           // five renewals are answered `unknown`...
//     plan->lose_replies(verb::renew);      // ...the sixth is done but nobody hears of it, the seventh is fine
class fault_plan {
public:
    static constexpr int for_ever = std::numeric_limits<int>::max();

    void lose_requests(verb v, int n = 1) { add(v, fault::lose_request, n); }  // the store never sees it
    void lose_replies(verb v, int n = 1) { add(v, fault::lose_reply, n); }     // done; no answer arrives
    void fail(verb v, int n = 1) { add(v, fault::fail, n); }                   // not done; the answer is `unknown`
    void fail_after(verb v, int n = 1) { add(v, fault::fail_after, n); }       // done; the answer is `unknown`
    void duplicate(verb v, int n = 1) { add(v, fault::duplicate, n); }         // done twice; the first answer counts

    // Pushes (granted and lost alike) are lost or doubled; they have no reply, so every other fault is a loss too.
    void lose_pushes(int n = 1) { add(verb::push, fault::lose_request, n); }

    // Renewals of one name are answered `unknown` without being asked; the rest of their batch fares as it would.
    void fail_renewals_of(const std::string& name, int n = for_ever);

    // From now on, on the way there and on the way back; zero: no more. A push has only the first.
    void delay(verb v, std::chrono::nanoseconds there, std::chrono::nanoseconds back = {});

    // A frozen store neither sees requests nor delivers replies or pushes; list and break_hold freeze too. thaw()
    // delivers what waited, in order, from the calling thread.
    void freeze();
    void thaw();

    // Forgets every fault and delay still to come, and thaws. Counts stay.
    void heal();

    std::uint64_t calls(verb v) const;    // by the core (pushes: by the store)
    std::uint64_t arrived(verb v) const;  // at the store (pushes: at the core); a duplicate arrives twice
    std::size_t ids(verb v) const;        // different claims in those calls
    bool saw(verb v, const claim_id& id) const;

    // For faulty_store: one call of a verb is about to be made, and by which claims; what befalls it?
    fault begin(verb v, const std::vector<claim_id>& by);
    void arrive(verb v);
    bool renewal_fails(const std::string& name);
    std::chrono::nanoseconds delay_there(verb v) const;
    std::chrono::nanoseconds delay_back(verb v) const;
    void attach(const std::shared_ptr<fault_gate>& gate);

private:
    struct step {
        fault what;
        int left;
    };
    struct track {
        std::deque<step> script;
        std::chrono::nanoseconds there{};
        std::chrono::nanoseconds back{};
        std::uint64_t calls = 0;
        std::uint64_t arrived = 0;
        std::unordered_set<claim_id> ids;
    };

    void add(verb v, fault what, int n);
    std::vector<std::shared_ptr<fault_gate>> gates() const;
    track& of(verb v) { return tracks_[static_cast<std::size_t>(v)]; }
    const track& of(verb v) const { return tracks_[static_cast<std::size_t>(v)]; }

    mutable std::mutex mutex_;
    std::array<track, 5> tracks_;
    std::map<std::string, int> failing_names_;
    bool frozen_ = false;
    std::vector<std::weak_ptr<fault_gate>> gates_;
};

}  // namespace mortise::testing
