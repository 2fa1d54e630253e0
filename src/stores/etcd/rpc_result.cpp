#include "stores/etcd/rpc_result.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <string_view>

namespace mortise::inline v0::stores::etcd {
namespace {

bool says(const ending& reply, std::string_view what) {
    return reply.text.find(what) != std::string::npos;
}

// It has no vote yet, and takes no requests but the harmless ones.
bool of_a_learner(const ending& reply) {
    return reply.code == ending::unavailable && says(reply, "not supported for learner");
}

std::string line_of(const std::string& address, std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    if (text.size() > 300) text.resize(300);
    return address + ": " + text;
}

}  // namespace

rpc_result rpc_result::of(const ending& reply, const std::string& address, const settings& how) {
    using enum rpc_result::verdict;
    if (reply.code == ending::ok) return {.is = answered};
    rpc_result end{.is = unknown, .reason = errc::unreachable, .detail = line_of(address, reply.text)};
    end.unmet = reply.unmet;
    switch (reply.code) {
        case ending::not_found:
            end.is = refused;
            end.reason = errc::lost;
            end.no_lease = says(reply, "lease not found");
            break;
        case ending::permission_denied:
            end.is = refused;
            end.reason = errc::denied;
            end.detail += "; the user needs the right to read and write " + how.needed_keys();
            break;
        case ending::unauthenticated:
            end.is = refused;
            end.reason = errc::denied;
            break;
        case ending::invalid_argument:
            end.is = refused;
            end.reason = says(reply, "user") || says(reply, "auth") ? errc::denied : errc::invalid_option;
            if (says(reply, "user name is empty")) end.detail += "; name a user in the address, and its password_file";
            break;
        case ending::failed_precondition:
            end.is = refused;
            end.reason = says(reply, "authentication") ? errc::denied : errc::unsupported;
            end.lease_exists = says(reply, "lease already exists");
            if (says(reply, "authentication is not enabled")) end.detail += "; leave the user out of the address";
            break;
        case ending::resource_exhausted:
            end.reason = errc::exhausted;
            if (says(reply, "space exceeded")) {
                end.is = refused;
                end.detail += "; compact and defragment it, then clear the alarm with etcdctl alarm disarm";
            }
            break;
        case ending::unimplemented:
            end.is = refused;
            end.reason = errc::unsupported;
            end.detail += "; is this an etcd 3.4 or newer?";
            break;
        default:
            end.no_leader = says(reply, "etcdserver: no leader");
            if (end.no_leader) end.detail += "; bring back a majority of the members";
            if (of_a_learner(reply)) end.detail += "; name the members that vote in the store's address";
            if (reply.hopeless) {
                end.is = refused;
                end.reason = errc::denied;
            }
            break;
    }
    return end;
}

bool is_trouble_of_the_member(const ending& reply) noexcept {
    return reply.code == ending::unavailable || reply.code == ending::deadline_exceeded;
}

bool is_for_another_member(const ending& reply) noexcept {
    return !reply.hopeless && reply.code != ending::deadline_exceeded && (reply.untouched || of_a_learner(reply));
}

}  // namespace mortise::inline v0::stores::etcd
