#include "base/lock_rules.hpp"

#include "base/kinds.hpp"

namespace mortise::inline v0::base {

mortise::holder kept_claim::describe(spi::time_point now) const {
    mortise::holder who;
    if (from) {
        who.host = from->host;
        who.pid = from->pid;
    }
    who.label = label;
    who.held_for = now - since_now();
    who.token = token::of(counter, 0);
    return who;
}

instant instant::at(spi::time_point now) {
    using namespace std::chrono;
    const auto wall = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    // A wall clock before 1970 or absurdly far ahead would eat the token's bits; the last counter keeps tokens rising.
    constexpr std::int64_t most = std::int64_t{1} << 53;
    return {now, static_cast<std::uint64_t>(std::clamp<std::int64_t>(wall, 0, most))};
}

kept_claim kept_claim::of(const spi::claim_request& wanted, std::uint64_t session,
                          std::shared_ptr<const whereabouts> from) {
    return {.id = wanted.id,
            .session = session,
            .weight = wanted.weight,
            .wait_slot = wanted.wait_slot,
            .instead_of = wanted.instead_of,
            .detached = wanted.kept_by == kept_by::lease,
            .keeps = wanted.keeps && wanted.weight == wanted.capacity,
            .lease = wanted.lease,
            .from = std::move(from),
            .label = std::string(wanted.label)};
}

spi::claim_answer verdict::answer(const spi::claim_request& wanted) && {
    spi::claim_answer said{.is = is, .grant = grant};
    if (is == spi::claim_answer::verdict::refused) {
        said.reason = reason;
        if (reason == errc::kind_mismatch) said.detail = disagreement(capacity, wanted.capacity);
    }
    if (in_the_way) said.standing.holder = std::move(in_the_way->who);
    if (place != 0) said.standing.place = place;
    said.standing.free_in = free_in;
    return said;
}

}  // namespace mortise::inline v0::base
