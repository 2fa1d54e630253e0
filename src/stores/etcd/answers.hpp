// What a request that failed means for the claim that made it.
#pragma once

#include "stores/etcd/rpc_result.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

#include <string>
#include <utility>

namespace mortise::inline v0::stores::etcd {

inline spi::claim_answer answer_of(const rpc_result& failed) {
    using enum spi::claim_answer::verdict;
    return {.is = failed.is == rpc_result::verdict::refused ? refused : unknown,
            .reason = failed.reason,
            .detail = failed.detail,
            .unreached = failed.unmet};
}

inline spi::claim_answer not_known(std::string detail = {}) {
    return {.is = spi::claim_answer::verdict::unknown, .reason = errc::unreachable, .detail = std::move(detail)};
}

inline spi::claim_answer not_understood() {
    return not_known("an answer of etcd could not be read");
}

}  // namespace mortise::inline v0::stores::etcd
