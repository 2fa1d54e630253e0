// What became of a request, in our terms.
#pragma once

#include "stores/etcd/grpc_session.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>

#include <string>
#include <system_error>

namespace mortise::inline v0::stores::etcd {

struct rpc_result {
    enum class verdict {
        answered,
        refused,  // it was not done, and would not be if it were sent again
        unknown,  // it may or may not have been done
    };
    verdict is = verdict::unknown;
    std::error_code reason{};
    std::string detail{};       // one line, with the address
    bool no_lease = false;      // refused: the lease it names does not exist
    bool lease_exists = false;  // refused: it does already
    bool no_leader = false;     // unknown: the member has lost the others
    bool unmet = false;         // unknown: nobody was there

    bool ok() const noexcept { return is == verdict::answered; }

    // etcd answers with NotFound, PermissionDenied, Unauthenticated, InvalidArgument, FailedPrecondition and Unimplemented before it
    // proposes anything, so these prove that nothing was done. All others may come after it was.
    static rpc_result of(const ending& reply, const std::string& address, const settings& how);
};

// It says nothing of what was asked: another member may do better.
bool is_trouble_of_the_member(const ending& reply) noexcept;
// It was not done, but another member would do it.
bool is_for_another_member(const ending& reply) noexcept;

}  // namespace mortise::inline v0::stores::etcd
