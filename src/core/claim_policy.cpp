#include "core/claim_policy.hpp"

#include "base/limits.hpp"
#include "base/spare_blocks.hpp"
#include "base/text.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <functional>
#include <utility>

namespace mortise::inline v0::core {

claim_policy::claim_policy(const client_options& options, const mortise::promises& promises, std::string shown_as)
    : options_(options),
      promises_(promises),
      own_label_(options.label.value()),
      label_(std::shared_ptr<const void>{}, &own_label_),
      shown_as_(std::move(shown_as)) {}

refusal claim_policy::refuse(std::error_code why, std::string_view name, const std::string& what) const {
    return {.reason = why,
            .detail = "lock " + base::quoted(name) + " (" + shown_as_ + "): " + (what.empty() ? why.message() : what)};
}

void claim_policy::check(const claim& wanted) const {
    base::check(wanted);
    if (const auto no = not_promised(wanted)) throw error(no->reason, no->describe());
}

std::optional<refusal> claim_policy::objection(const claim& wanted) const {
    base::check(wanted);
    auto no = not_promised(wanted);
    if (no && no->reason == errc::invalid_option) throw error(no->reason, no->describe());
    return no;
}

std::optional<refusal> claim_policy::not_promised(const claim& wanted) const {
    const auto cannot = [&](const std::string& what) {
        return refuse(errc::unsupported, wanted.name, "the " + promises_.store + " store does not promise " + what);
    };
    const claim_options& o = wanted.options;
    if (o.require_token && !promises_.tokens)
        return refuse(errc::no_token, wanted.name, "the store has no fencing tokens, and require_token demands them");
    if (o.order == order::fifo && !promises_.fifo)
        return cannot("first come, first served (order::fifo); use order::any");
    if (o.kept_by == kept_by::lease && !promises_.detached)
        return cannot("detached claims (kept_by::lease); use kept_by::process");
    if (o.lease && !promises_.leases) return cannot("leases; leave claim_options::lease unset");
    if (o.keep && *o.keep != keep::off() && !may_keep(wanted))
        return refuse(errc::invalid_option, wanted.name,
                      "only an exclusive claim or a read is kept (claim_options::keep), with order::any, renew::on, "
                      "hand_over::on, "
                      "kept_by::process and client_options::hand_over_turns above 1");
    if (keep_of(wanted) != keep::off() && !promises_.keeps)
        return cannot("to say that somebody else asks for a lock that is kept (keep::idle); use keep::off()");
    if (durability_of(o) > 0 && !promises_.replicas) return cannot("to wait for replicas (durability::wait)");
    if (wanted.capacity > promises_.most_capacity) return cannot("a capacity of " + std::to_string(wanted.capacity));
    const auto lease = lease_of(o);
    if (o.renew == renew::off && lease && promises_.longest_lease && *lease > *promises_.longest_lease)
        return cannot("a lease of more than " + base::readable(*promises_.longest_lease) +
                      " without renewal (renew::off)");
    if (lease && margin_of(*lease) > *lease / 2)
        return refuse(errc::invalid_option, wanted.name,
                      "of a lease of " + base::readable(*lease) + " the margin and drift of the client take " +
                          base::readable(margin_of(*lease)) + "; use a longer lease or a smaller margin");
    return std::nullopt;
}

std::string claim_policy::cannot_list() const {
    return promises_.lists ? std::string{} : "the " + promises_.store + " store does not promise lists of locks";
}

std::optional<spi::duration> claim_policy::lease_of(const claim_options& o) const {
    if (o.lease) return o.lease;
    if (options_.lease) return options_.lease;
    if (o.kept_by == kept_by::lease && !promises_.default_lease) return std::chrono::seconds{30};
    return promises_.default_lease;
}

unsigned claim_policy::durability_of(const claim_options& o) const {
    return o.durability.value_or(options_.durability).replicas;
}

// Handed over inside the process.
bool claim_policy::may_share(const claim& wanted) const {
    return may_keep(wanted) && wanted.exclusive();
}

// What may be handed over inside the process may be kept by it; and so may a read.
bool claim_policy::may_keep(const claim& wanted) const {
    const claim_options& o = wanted.options;
    return options_.hand_over_turns > 1 && o.hand_over == hand_over::on && o.order == order::any &&
           (wanted.exclusive() || reads(wanted.capacity, wanted.weight)) && o.renew == renew::on &&
           o.kept_by == kept_by::process;
}

mortise::keep claim_policy::keep_of(const claim& wanted) const {
    if (!may_keep(wanted)) return keep::off();
    return wanted.options.keep.value_or(options_.keep);
}

spi::duration claim_policy::margin_of(spi::duration lease) const {
    return options_.margin + std::chrono::duration_cast<spi::duration>(lease * options_.drift);
}

core::lease claim_policy::lease_of(const spi::grant& given, const claim_terms& terms) const {
    return core::lease({.life = given.lease,
                        .renewed = terms.renewed,
                        .margin = margin_of(given.grace.value_or(given.lease.value_or(spi::duration::zero()))),
                        .grace = given.grace},
                       given.counted_from);
}

settled_claim claim_policy::settled(claim& wanted) const {
    claim_options& o = wanted.options;
    auto made = base::make_spared<claim_terms>();
    claim_terms& terms = *made;
    terms.name = wanted.name.take();
    terms.name_hash = std::hash<std::string_view>{}(terms.name);
    terms.label = o.label.empty() ? label_ : std::make_shared<const std::string>(o.label.take());
    terms.lease = lease_of(o);
    terms.capacity = wanted.capacity;
    terms.weight = wanted.weight;
    terms.replicas = durability_of(o);
    terms.fifo = o.order == order::fifo;
    terms.lazy = o.release == release_mode::lazy;
    terms.renewed = o.renew == renew::on;
    terms.detached = o.kept_by == kept_by::lease;
    terms.shareable = may_share(wanted);
    const auto kept = std::chrono::ceil<std::chrono::milliseconds>(keep_of(wanted).idle_for);
    terms.keep_ms = static_cast<std::uint16_t>(kept.count());
    return {std::move(made), o.stop.take()};
}

}  // namespace mortise::inline v0::core
