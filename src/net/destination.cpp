#include "net/destination.hpp"

#include "base/text.hpp"

namespace mortise::inline v0::net {

std::string destination::reason(const transport::result& failed) const {
    return failed.why.empty() ? called + " closed the connection" : failed.why;
}

trouble destination::broken(const transport::result& failed) const {
    if (failed.hopeless) return {errc::denied, failed.why, true};
    return {errc::unreachable, reason(failed)};
}

trouble destination::end_of_stream(const transport::result& ended, bool proven) const {
    if (ended.hopeless || proven || tls.on) return broken(ended);
    return {errc::unreachable, reason(ended) + " before it said anything; if it speaks TLS, " + tls.if_needed, false,
            trouble::remedy::told, true};
}

trouble destination::silence(bool establishing) const {
    if (where.port == 0) return {errc::timed_out, unknown, false, trouble::remedy::told};
    const std::string what = "has not answered for " + base::readable(timeout);
    if (!establishing || !tls.on) return {errc::timed_out, what};
    return {errc::timed_out, what + "; if it does not speak TLS, " + tls.if_silent, false, trouble::remedy::told};
}

}  // namespace mortise::inline v0::net
