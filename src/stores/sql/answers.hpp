// What a statement that failed means for the claim that it was for.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::sql {

// Whether asking again may help.
inline bool passes(const outcome& failed) {
    using enum outcome::kind;
    switch (failed.is) {
        case denied:
        case full:  // for longer than anybody wants to wait
        case foreign:
        case refused:
        case exists:
        case no_schema:
            return false;
        default:
            return !failed.hopeless;
    }
}

inline errc code_of(const outcome& failed) {
    using enum outcome::kind;
    switch (failed.is) {
        case denied:
            return errc::denied;
        case full:
        case exhausted:
            return errc::exhausted;
        case foreign:
        case refused:
        case exists:
        case no_schema:
            return errc::unsupported;
        default:
            return failed.hopeless ? errc::denied : errc::unreachable;
    }
}

inline spi::claim_answer answer_of(const outcome& failed) {
    using enum spi::claim_answer::verdict;
    return {.is = passes(failed) ? unknown : refused,
            .reason = code_of(failed),
            .detail = failed.detail,
            .unreached = failed.unmet};
}

inline base::queued_claim::fate fate_of(const outcome& failed) {
    using enum base::queued_claim::fate;
    return failed.is == outcome::kind::unsure ? unsure : not_done;
}

}  // namespace mortise::inline v0::stores::sql
