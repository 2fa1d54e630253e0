// What a checker says of a history.
#pragma once

#include "checker/history/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::checker {

// One broken promise: a sentence, and the times between which the timeline shows it.
struct violation {
    std::string what;
    std::uint32_t lock = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
};

struct judgement {
    std::string checker;        // "C1 timed exclusion"
    std::size_t checked = 0;    // operations that it looked at; a verdict on none is no verdict
    std::size_t excused = 0;    // broken where the store's own promise had ended
    std::size_t undecided = 0;  // given up: neither sound nor violated
    std::size_t count = 0;      // of violations; the list has the first hundred
    std::vector<violation> violations{};

    bool sound() const noexcept { return count == 0; }
    void add(violation one) {
        if (++count <= 100) violations.push_back(std::move(one));
    }
};

// When the store's own promise of exclusion ended: it lost its memory, its clock was set, an operator broke a lock. A lock that was
// granted before such a moment may be granted again after it. Tokens must rise all the same.
struct excuses {
    struct spell {
        std::int64_t begun;
        std::int64_t over;
    };

    std::vector<std::int64_t> moments{};   // by time
    std::vector<std::int64_t> releases{};  // when it may have forgotten releases, and nothing else
    std::vector<spell> spells{};  // while it may have forgotten again and again, also what it granted meanwhile

    bool between(std::int64_t from, std::int64_t to) const noexcept;
    bool of_a_release(std::int64_t from, std::int64_t to) const noexcept;
};

// "process 4711, token 1823, at 12.345 s": how violations name a grant.
std::string named(const operation& grant);

}  // namespace mortise::checker
