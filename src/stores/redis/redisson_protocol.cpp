#include "stores/redis/redisson_protocol.hpp"

#include "base/ended_claims.hpp"
#include "base/kinds.hpp"
#include "base/limits.hpp"
#include "base/told_span.hpp"
#include "base/words.hpp"
#include "stores/redis/names.hpp"

#include <mortise/error.hpp>

#include <chrono>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;

// A release that only this client repeats, which remembers it as well.
constexpr spi::duration latched_for = std::chrono::seconds{2};

class redisson_protocol final : public peer_protocol {
public:
    explicit redisson_protocol(const settings& config)
        : prefix_(config.key_prefix),
          fair_(config.fair),
          fair_wait_(config.fair_wait),
          cluster_(config.shape == settings::topology::cluster) {}

    std::string objection(const spi::claim_request& wanted) const override;
    std::string key_of(std::string_view name) const override { return prefix_ + std::string(name); }
    script_call claim_call(const peer_claim& wanted) const override;
    spi::claim_answer read_claim(const reply& raw, const peer_claim& asked, spi::time_point sent) const override;
    script_call release_call(std::string_view key, const claim_id& id, bool kept) const override;
    spi::release_answer read_release(const reply& raw) const override;
    script_call renew_call(std::span<const renewal_item> items) const override;
    std::string channel_of(const peer_claim& waiting) const override;
    bool may_be_free(std::string_view) const override { return true; }

private:
    script_call fair_claim_call(const peer_claim& wanted) const;
    std::string_view publish() const { return cluster_ ? "SPUBLISH" : "PUBLISH"; }

    const std::string prefix_;
    const bool fair_;
    const spi::duration fair_wait_;
    const bool cluster_;
};

std::string redisson_protocol::objection(const spi::claim_request& wanted) const {
    const bool mutex = wanted.capacity == 1;
    const bool shared =
        wanted.capacity == base::most_capacity && (wanted.weight == 1 || wanted.weight == wanted.capacity);
    if (fair_ && !mutex)
        return "with fair=1 protocol=redisson has mutexes only; Redisson's read-write locks are not fair";
    if (!mutex && !shared) return "protocol=redisson has mutexes and read-write locks only";
    const std::string key = key_of(wanted.name);
    if (cluster_ && slot_of(redisson_names{key}.channel) != slot_of(key))
        return "Redisson's keys for this name lie in different slots of the cluster; use a name without braces";
    return {};
}

script_call redisson_protocol::claim_call(const peer_claim& wanted) const {
    if (fair_) return fair_claim_call(wanted);
    const scripts& all = scripts::all();
    const redisson_names names{wanted.key};
    const std::string owner = redisson_owner(wanted.id);
    const bool shared = wanted.capacity > 1;
    const script& which = !shared ? all.redisson_claim : wanted.reads() ? all.redisson_read : all.redisson_write;
    script_call made{which, shared && wanted.reads() ? 3u : 2u, 2};
    made << wanted.key << names.latch(wanted.id);
    if (shared && wanted.reads()) made << names.reader(owner);
    made << whole_ms(wanted.lease) << owner;
    return made;
}

script_call redisson_protocol::fair_claim_call(const peer_claim& wanted) const {
    const redisson_names names{wanted.key};
    script_call made{scripts::all().redisson_fair_claim, 4, 4};
    made << wanted.key << names.latch(wanted.id) << names.line << names.ends << whole_ms(wanted.lease)
         << redisson_owner(wanted.id) << whole_ms(fair_wait_) << std::int64_t{wanted.queue};
    return made;
}

spi::claim_answer redisson_protocol::read_claim(const reply& raw, const peer_claim& asked, spi::time_point sent) const {
    using enum spi::claim_answer::verdict;
    if (raw.error() && raw.text.starts_with("KIND ")) {
        const auto in_use = base::words{raw.text.substr(5)}.number<std::uint32_t>();
        return {.is = refused, .reason = errc::kind_mismatch, .detail = base::disagreement(in_use, asked.capacity)};
    }
    if (raw.failure() || raw.error())
        return not_claimed(raw,
                           "its key in Redis holds data that is no lock of Redisson, and was left alone; use another "
                           "name or the option key_prefix");
    if (raw.is == reply::kind::null) return {.is = granted, .grant = {.lease = asked.lease, .counted_from = sent}};
    if (raw.text == "R") return {.is = refused, .reason = errc::cancelled};
    if (raw.is != reply::kind::integer) return {};
    spi::claim_answer no{.is = busy};
    no.standing.holder.emplace();  // somebody: an owner is a number
    if (raw.number >= 0) no.standing.free_in = base::told_span<milliseconds>(raw.number);
    return no;
}

script_call redisson_protocol::release_call(std::string_view key, const claim_id& id, bool kept) const {
    const redisson_names names{key};
    const std::string owner = redisson_owner(id);
    const std::int64_t latched = whole_ms(kept ? base::ended_claim::remembered_for : latched_for);
    if (fair_) {
        script_call made{scripts::all().redisson_fair_release, 4, 5};
        made << key << names.line << names.ends << names.latch(id) << owner << publish() << latched
             << whole_ms(fair_wait_) << names.channel;
        return made;
    }
    script_call made{scripts::all().redisson_release, 3, 5};
    made << key << names.latch(id) << names.reader(owner) << owner << publish() << latched << names.channel
         << names.rw_channel;
    return made;
}

spi::release_answer redisson_protocol::read_release(const reply& raw) const {
    using enum spi::release_answer;
    if (raw.is == reply::kind::null) return taken_over;
    if (raw.is != reply::kind::integer) return unknown;
    return raw.number >= 0 ? released : expired;
}

script_call redisson_protocol::renew_call(std::span<const renewal_item> items) const {
    script_call made{scripts::all().redisson_renew, items.size(), 2 * items.size()};
    for (const renewal_item& one : items) made << one.key;
    for (const renewal_item& one : items) made << redisson_owner(one.id) << whole_ms(one.lease);
    return made;
}

std::string redisson_protocol::channel_of(const peer_claim& waiting) const {
    const redisson_names names{waiting.key};
    if (fair_) return names.own_channel(redisson_owner(waiting.id));
    return waiting.capacity > 1 ? names.rw_channel : names.channel;
}

}  // namespace

redisson_names::redisson_names(std::string_view key)
    : tagged(key.find('{') == std::string_view::npos ? "{" + std::string(key) + "}" : std::string(key)),
      channel("redisson_lock__channel:" + tagged),
      rw_channel("redisson_rwlock:" + tagged),
      line("redisson_lock_queue:" + tagged),
      ends("redisson_lock_timeout:" + tagged) {}

std::string redisson_names::latch(const claim_id& id) const {
    return "redisson_unlock_latch:" + tagged + ":" + id.hex();
}

// Redisson has one for each time that a reader has entered; ours enter once.
std::string redisson_names::reader(std::string_view owner) const {
    return tagged + ":" + std::string(owner) + ":rwlock_timeout:1";
}

std::string redisson_owner(const claim_id& id) {
    std::string text = id.hex();
    for (const std::size_t dash : {20, 16, 12, 8}) text.insert(dash, 1, '-');
    return text + ":1";
}

std::unique_ptr<const peer_protocol> make_redisson_protocol(const settings& config) {
    return std::make_unique<redisson_protocol>(config);
}

}  // namespace mortise::inline v0::stores::redis
