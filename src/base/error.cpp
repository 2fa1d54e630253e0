#include "base/immortal.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0 {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "mortise"; }

    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::busy:
                return "the lock is held by somebody else";
            case errc::timed_out:
                return "the wait ended before the lock was free";
            case errc::cancelled:
                return "the wait was cancelled";
            case errc::would_deadlock:
                return "the wait would deadlock: the caller already holds this lock, or waits in a cycle of threads";
            case errc::lost:
                return "the lock was lost: its lease expired, or it was broken";
            case errc::not_owner:
                return "the caller does not hold this lock";
            case errc::forked:
                return "this client belongs to the parent process; create one after fork";
            case errc::closed:
                return "the client was closed";
            case errc::unreachable:
                return "the store did not answer in time";
            case errc::kind_mismatch:
                return "the name is in use with another capacity";
            case errc::unsupported:
                return "the store does not promise what the claim requires";
            case errc::no_token:
                return "the store has no fencing tokens";
            case errc::invalid_name:
                return "invalid lock name";
            case errc::invalid_option:
                return "invalid option";
            case errc::bad_url:
                return "invalid store address";
            case errc::unknown_store:
                return "this build has no such store";
            case errc::exhausted:
                return "the machine or the store is out of a resource";
            case errc::denied:
                return "the store rejected the credentials, or a permission is missing";
        }
        return "unknown mortise error " + std::to_string(code);
    }

    std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::busy:
                return std::errc::device_or_resource_busy;
            case errc::timed_out:
                return std::errc::timed_out;
            case errc::cancelled:
                return std::errc::operation_canceled;
            case errc::would_deadlock:
                return std::errc::resource_deadlock_would_occur;
            case errc::lost:
                return std::errc::owner_dead;
            case errc::not_owner:
                return std::errc::operation_not_permitted;
            case errc::forked:
                return std::errc::no_child_process;
            case errc::closed:
                return std::errc::not_connected;
            case errc::unreachable:
                return std::errc::host_unreachable;
            case errc::kind_mismatch:
                return std::errc::wrong_protocol_type;
            case errc::unsupported:
            case errc::no_token:
                return std::errc::not_supported;
            case errc::invalid_name:
            case errc::invalid_option:
            case errc::bad_url:
            case errc::unknown_store:
                return std::errc::invalid_argument;
            case errc::exhausted:
                return std::errc::resource_unavailable_try_again;
            case errc::denied:
                return std::errc::permission_denied;
        }
        return {code, *this};
    }
};

constinit const base::immortal<category> the_category;

}  // namespace

std::string_view to_string(errc code) noexcept {
    switch (code) {
        case errc::busy:
            return "busy";
        case errc::timed_out:
            return "timed_out";
        case errc::cancelled:
            return "cancelled";
        case errc::would_deadlock:
            return "would_deadlock";
        case errc::lost:
            return "lost";
        case errc::not_owner:
            return "not_owner";
        case errc::forked:
            return "forked";
        case errc::closed:
            return "closed";
        case errc::unreachable:
            return "unreachable";
        case errc::kind_mismatch:
            return "kind_mismatch";
        case errc::unsupported:
            return "unsupported";
        case errc::no_token:
            return "no_token";
        case errc::invalid_name:
            return "invalid_name";
        case errc::invalid_option:
            return "invalid_option";
        case errc::bad_url:
            return "bad_url";
        case errc::unknown_store:
            return "unknown_store";
        case errc::exhausted:
            return "exhausted";
        case errc::denied:
            return "denied";
    }
    return "?";
}

const std::error_category& error_category() noexcept {
    return the_category.value;
}

error::~error() = default;

}  // namespace mortise::inline v0
