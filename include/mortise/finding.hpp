// What a check of a store found.
#pragma once

#include <mortise/config.hpp>

#include <iosfwd>
#include <string>
#include <string_view>

namespace mortise::inline v0 {

struct finding {
    enum class grade {
        good,     // as it should be
        note,     // worth knowing
        warning,  // a promise is weaker than it looks, or something beside locks does not work
        problem,  // locks do not work, or will not for long
    };
    grade is = grade::note;
    std::string what{};    // one line
    std::string remedy{};  // what to do about it; empty if nothing needs to be done
};

MORTISE_API std::string_view to_string(finding::grade) noexcept;
MORTISE_API std::ostream& operator<<(std::ostream&, finding::grade);

}  // namespace mortise::inline v0
