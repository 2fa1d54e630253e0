// What the processes of a storm of one kind share: who is inside of which name and with what weight, and what was wrong.
//
// Each thread has a lane, and writes there what it holds: after the grant, and before it gives anything back. So whatever
// stands there at one instant was held together at that instant. Whoever enters adds it all up; more than fits is an overlap.
// What the dead left there is not counted: the storm marks its victims before it kills them.
#pragma once

#include "support/census.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace mortise::testing {

struct kind_page {
    static constexpr std::size_t processes = 4;
    static constexpr std::size_t threads = 4;
    static constexpr std::size_t lanes = processes * threads;
    static constexpr std::size_t names = 4;
    static constexpr std::size_t most_classes = 4;

    enum class doing : std::uint32_t { nothing, asking, inside, upgrading };

    // Which weights there are and how much fits; weights[0] stands for nothing. Set before anybody comes.
    std::uint64_t capacity = 1;
    std::array<std::uint64_t, most_classes> weights{0, 1};
    std::chrono::milliseconds patience{60'000};  // of a wait that ought to end with a grant
    std::chrono::microseconds linger{0};         // now and then inside, where an entry takes longer than a stay

    struct lane_notes {
        // How often it changed (32 bits), the life of its process (24), class of the weight (8).
        alignas(64) std::array<std::atomic<std::uint64_t>, names> holds{};
        std::atomic<doing> is{doing::nothing};
        std::atomic<std::uint64_t> operations{0};
        std::atomic<std::uint64_t> full{0};  // of these: entries that nobody may be beside
        std::uint64_t changes = 0;           // its own
    };
    std::array<lane_notes, lanes> all{};
    std::array<std::atomic<std::uint64_t>, processes> doomed{};  // of each process: so many lives are over

    census_number census{0};  // processes say which claims they admit to
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> overlaps{0};
    std::atomic<std::uint64_t> beside{0};  // entries that met somebody, by right
    std::atomic<std::uint64_t> unseen{0};  // entries that could not be judged: too much was going on
    std::atomic<std::uint64_t> disorders{0};
    std::atomic<std::uint64_t> stuck{0};        // waits that ought to have ended
    std::atomic<std::uint64_t> short_waits{0};  // that ended without a grant, as they may
    std::atomic<std::uint64_t> errors{0};
    char last_error[256]{};
    std::array<std::array<std::atomic<std::uint64_t>, most_classes>, names> highest{};  // token, of each name and class

    std::uint64_t operations() const {
        std::uint64_t sum = 0;
        for (const lane_notes& one : all) sum += one.operations;
        return sum;
    }
    std::uint64_t full_entries() const {
        std::uint64_t sum = 0;
        for (const lane_notes& one : all) sum += one.full;
        return sum;
    }
    void complain(const std::string& what) {
        if (errors++ == 0) std::strncpy(last_error, what.c_str(), sizeof last_error - 1);
    }

    bool alive(std::size_t lane, std::uint64_t word) const { return (word >> 8 & 0xffffff) > doomed[lane / threads]; }

    // All that is held of a name by the living, at one instant; nothing if it does not hold still.
    std::optional<std::uint64_t> held(std::size_t name) const {
        std::array<std::uint64_t, lanes> seen{};
        for (int tries = 0; tries < 20; ++tries) {
            for (std::size_t i = 0; i < lanes; ++i) seen[i] = all[i].holds[name];
            bool still = true;
            for (std::size_t i = 0; i < lanes && still; ++i) still = all[i].holds[name] == seen[i];
            if (!still) continue;
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < lanes; ++i)
                if (alive(i, seen[i])) sum += weights[seen[i] & 0xff];
            return sum;
        }
        return std::nullopt;
    }

    // Whether it died with something in its hands.
    bool died_holding(std::size_t process, std::uint64_t life) const {
        for (std::size_t i = process * threads; i < (process + 1) * threads; ++i)
            for (const auto& word : all[i].holds)
                if ((word >> 8 & 0xffffff) == life && (word & 0xff) != 0) return true;
        return false;
    }
};

// The place of one thread on the page.
class page_lane {
public:
    page_lane(kind_page& page, std::size_t lane, std::uint64_t life) : page_(page), lane_(lane), life_(life) {}

    kind_page& page() { return page_; }
    std::size_t number() const { return lane_; }
    void does(kind_page::doing what) { mine().is = what; }

    // Right after the grant.
    void enter(std::size_t name, std::size_t weight_class, std::uint64_t token) {
        write(name, weight_class);
        mine().is = kind_page::doing::inside;
        const auto held = page_.held(name);
        if (!held) ++page_.unseen;
        if (held && *held > page_.capacity) ++page_.overlaps;
        if (held && *held > page_.weights[weight_class]) ++page_.beside;
        // Whoever cannot be beside us has left before we came, so its token is smaller.
        for (std::size_t other = 1; other < kind_page::most_classes; ++other)
            if (conflict(weight_class, other) && page_.highest[name][other] >= token) ++page_.disorders;
        raise(page_.highest[name][weight_class], token);
        ++mine().operations;
        if (page_.weights[weight_class] == page_.capacity) ++mine().full;
    }
    // Right before it is given back, in part or as a whole.
    void lower(std::size_t name, std::size_t weight_class) { write(name, weight_class); }
    void leave(std::size_t name) {
        write(name, 0);
        mine().is = kind_page::doing::nothing;
    }

private:
    kind_page::lane_notes& mine() { return page_.all[lane_]; }
    void write(std::size_t name, std::size_t weight_class) {
        mine().holds[name] = ++mine().changes << 32 | life_ << 8 | weight_class;
    }
    bool conflict(std::size_t a, std::size_t b) const {
        return page_.weights[b] != 0 && page_.weights[a] + page_.weights[b] > page_.capacity;
    }
    static void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) {
        std::uint64_t seen = highest;
        while (seen < value && !highest.compare_exchange_weak(seen, value)) {
        }
    }

    kind_page& page_;
    const std::size_t lane_;
    const std::uint64_t life_;
};

}  // namespace mortise::testing
