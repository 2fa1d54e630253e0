// A result of client::check.
#pragma once

#include <mortise/config.hpp>

#include <iosfwd>
#include <string>
#include <string_view>

namespace mortise::inline v0 {

// Something that an operator should know about a store, from client::check.
struct finding {
    enum class grade {
        good,     // as it should be
        note,     // worth knowing
        warning,  // a promise is weakened, or something other than locking does not work
        problem,  // locking does not work, or will soon fail
    };
    grade is = grade::note;
    std::string what{};    // one line
    std::string remedy{};  // what to do about it; empty: nothing
};

MORTISE_API std::string_view to_string(finding::grade) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, finding::grade);

}  // namespace mortise::inline v0
