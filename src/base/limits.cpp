#include "base/limits.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <string>

namespace mortise::inline v0::base {
namespace {

using std::chrono::nanoseconds;

[[noreturn]] void bad_name(std::string_view name, const std::string& what) {
    throw error(errc::invalid_name,
                "lock name " + quoted(name) + " " + what + "; use 1 to 200 bytes of UTF-8 without control characters");
}

[[noreturn]] void bad_option(const std::string& what) {
    throw error(errc::invalid_option, what);
}

void check_lease(nanoseconds lease) {
    if (lease < shortest_lease || lease > longest_lease)
        bad_option("lease of " + readable(lease) + ": use 100 ms to 24 h");
}

void check_keep(const mortise::keep& kept) {
    if (kept != keep::off() && (kept.idle_for < shortest_keep || kept.idle_for > longest_keep))
        bad_option("keep for " + readable(kept.idle_for) + ": use 1 ms to 60 s, or keep::off()");
}

void check_label(std::string_view label) {
    if (label.size() > longest_label || (!printable_ascii(label) && (!valid_utf8(label) || has_control(label))))
        bad_option("label " + quoted(label) + ": use at most 200 bytes of UTF-8 without control characters");
}

void check_positive(const char* field, nanoseconds span, nanoseconds most) {
    if (span < nanoseconds::zero() || span > most)
        bad_option(std::string(field) + " of " + readable(span) + ": use 0 to " + readable(most));
}

}  // namespace

void check_name(std::string_view name) {
    if (name.empty()) bad_name(name, "is empty");
    if (name.size() > longest_name) bad_name(name, "has " + std::to_string(name.size()) + " bytes");
    if (printable_ascii(name)) return;
    if (!valid_utf8(name)) bad_name(name, "is not valid UTF-8");
    if (has_control(name)) bad_name(name, "contains control characters");
}

void check(const claim& wanted) {
    check_name(wanted.name);
    const claim_options& o = wanted.options;
    if (wanted.capacity < 1 || wanted.capacity > most_capacity)
        bad_option("capacity of " + std::to_string(wanted.capacity) + ": use 1 to 2147483648");
    if (wanted.weight < 1 || wanted.weight > wanted.capacity)
        bad_option("weight of " + std::to_string(wanted.weight) + ": use 1 to the capacity, " +
                   std::to_string(wanted.capacity));
    if (o.wait && *o.wait < nanoseconds::zero())
        bad_option("wait of " + readable(*o.wait) + ": use zero for no wait, or leave it out to wait as the verb does");
    if (o.lease) check_lease(*o.lease);
    if (o.keep) check_keep(*o.keep);
    check_label(o.label);
}

void check(const client_options& o) {
    using namespace std::chrono_literals;
    if (o.lease) check_lease(*o.lease);
    check_label(o.label);
    check_keep(o.keep);
    if (o.hand_over_turns > token::most_turns)
        bad_option("hand_over_turns of " + std::to_string(o.hand_over_turns) + ": use 0 to 1023");
    if (!(o.drift >= 0.0 && o.drift <= 0.5)) bad_option("drift of " + std::to_string(o.drift) + ": use 0 to 0.5");
    check_positive("margin", o.margin, 1h);
    check_positive("release_wait", o.release_wait, 24h);
    check_positive("close_wait", o.close_wait, 24h);
    check_positive("patience", o.patience, 24h);
    if (o.try_patience) check_positive("try_patience", *o.try_patience, 24h);
    if (o.reply_timeout < 1ms || o.reply_timeout > 24h)
        bad_option("reply_timeout of " + readable(o.reply_timeout) + ": use 1 ms to 24 h");
}

}  // namespace mortise::inline v0::base
