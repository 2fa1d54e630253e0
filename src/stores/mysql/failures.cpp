#include "stores/mysql/failures.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::stores::mysql {

spi::claim_answer answer_of(const sql::outcome& how) {
    using kind = sql::outcome::kind;
    using claim_is = spi::claim_answer::verdict;
    spi::claim_answer why{.is = claim_is::refused, .detail = how.detail, .unreached = how.unmet};
    switch (how.is) {
        case kind::denied:
            why.reason = errc::denied;
            if (!how.hopeless) why.detail += "; `mortise schema` prints the tables and the rights that are needed";
            break;
        case kind::no_schema:
            why.reason = errc::denied;
            break;
        case kind::foreign:
            why.reason = errc::unsupported;
            why.detail += "; a table of this name is there that is not ours, or a trigger on it: use another database";
            break;
        case kind::read_only:
            why.is = claim_is::unknown;  // a failover may be under way
            why.reason = errc::unreachable;
            why.detail += "; locks need the primary";
            break;
        case kind::full:
            why.reason = errc::exhausted;
            break;
        case kind::exhausted:
            why.is = claim_is::unknown;
            why.reason = errc::exhausted;
            break;
        case kind::refused:
        case kind::exists:
            why.reason = how.hopeless ? errc::denied : errc::unsupported;
            break;
        default:
            why.is = how.hopeless ? claim_is::refused : claim_is::unknown;
            why.reason = how.hopeless ? errc::denied : errc::unreachable;
            break;
    }
    return why;
}

}  // namespace mortise::inline v0::stores::mysql
