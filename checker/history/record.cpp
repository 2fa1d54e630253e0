#include "checker/history/record.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace mortise::checker {

std::string_view to_string(act what) noexcept {
    switch (what) {
        case act::none:
            return "none";
        case act::acquire:
            return "acquire";
        case act::reenter:
            return "reenter";
        case act::valid:
            return "valid";
        case act::release:
            return "release";
        case act::seal:
            return "seal";
        case act::read:
            return "read";
        case act::write:
            return "write";
        case act::fault:
            return "fault";
        case act::heal:
            return "heal";
        case act::truth:
            return "truth";
        case act::holder:
            return "holder";
        case act::leftover:
            return "leftover";
        case act::queued:
            return "queued";
        case act::unqueued:
            return "unqueued";
    }
    return "?";
}

std::string_view to_string(phase is) noexcept {
    switch (is) {
        case phase::invoke:
            return "invoke";
        case phase::ok:
            return "ok";
        case phase::fail:
            return "fail";
        case phase::unknown:
            return "unknown";
        case phase::lost:
            return "lost";
    }
    return "?";
}

std::int64_t raw_now() noexcept {
    timespec now{};
    ::syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace mortise::checker
