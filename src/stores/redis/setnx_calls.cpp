#include "stores/redis/setnx_calls.hpp"

#include "base/ended_claims.hpp"
#include "base/words.hpp"
#include "stores/redis/names.hpp"

#include <mortise/error.hpp>

#include <chrono>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;

// PX takes whole milliseconds. Up: the hold must not end before we think so.
std::int64_t ms(spi::duration d) {
    return std::chrono::ceil<milliseconds>(d).count();
}

}  // namespace

std::optional<std::string> setnx_mark_of(std::string_view key, const claim_id& id) {
    std::string mark = key.find('{') == std::string_view::npos ? "{" + std::string(key) + "}" : std::string(key);
    mark += ":released:" + id.hex();
    if (slot_of(mark) != slot_of(key)) return std::nullopt;
    return mark;
}

script_call setnx_claim_call(std::string_view key, const claim_id& id, spi::duration lease) {
    const auto mark = setnx_mark_of(key, id);
    script_call made{scripts::all().setnx_claim, mark ? 2u : 1u, 2};
    made << key;
    if (mark) made << *mark;
    made << id.hex() << ms(lease);
    return made;
}

script_call setnx_release_call(std::string_view key, const claim_id& id, bool others_may_repeat) {
    const auto mark = setnx_mark_of(key, id);
    script_call made{scripts::all().setnx_release, mark ? 2u : 1u, 3};
    made << key;
    if (mark) made << *mark;
    made << id.hex() << ms(base::ended_claim::remembered_for) << std::int64_t{others_may_repeat};
    return made;
}

script_call setnx_renew_call(std::span<const renewal_item> items) {
    script_call made{scripts::all().setnx_renew, items.size(), 2 * items.size()};
    for (const renewal_item& one : items) made << one.key;
    for (const renewal_item& one : items) made << one.id.hex() << ms(one.lease);
    return made;
}

spi::claim_answer read_setnx_claim(const reply& raw, spi::duration lease, spi::time_point sent) {
    using enum spi::claim_answer::verdict;
    if (raw.failure() || raw.error()) {
        error_reply why = read_error(raw);
        if (why.code == errc::kind_mismatch)
            why.what =
                "its key in Redis is no string, so no lock of this protocol, and was left alone; use another name "
                "or the option key_prefix";
        return {
            .is = why.passing ? unknown : refused, .reason = why.code, .detail = why.advice(), .unreached = raw.unmet};
    }
    if (raw.text == "G") return {.is = granted, .grant = {.lease = lease, .counted_from = sent}};
    if (raw.text == "R") return {.is = refused, .reason = errc::cancelled};
    if (!raw.text.starts_with('B')) return {};
    base::words left{raw.text.substr(1)};
    const milliseconds free_in{left.number()};
    if (left.bad()) return {};
    spi::claim_answer no{.is = busy};
    no.standing.holder.emplace();  // somebody: the value does not say who
    if (free_in >= milliseconds::zero()) no.standing.free_in = free_in;
    return no;
}

}  // namespace mortise::inline v0::stores::redis
