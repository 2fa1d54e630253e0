#include "stores/redis/setnx_protocol.hpp"

#include "base/ended_claims.hpp"
#include "base/words.hpp"
#include "stores/redis/names.hpp"

#include <mortise/error.hpp>

#include <chrono>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;

class setnx_protocol final : public peer_protocol {
public:
    explicit setnx_protocol(const settings& config)
        : prefix_(config.key_prefix), notices_("__keyspace@" + std::to_string(config.database) + "__:") {}

    std::string key_of(std::string_view name) const override { return prefix_ + std::string(name); }
    script_call claim_call(const peer_claim& wanted) const override;
    spi::claim_answer read_claim(const reply& raw, const peer_claim& asked, spi::time_point sent) const override;
    std::optional<script_call> plain_claim_call(const peer_claim& wanted) const override;
    script_call release_call(std::string_view key, const claim_id& id, bool kept) const override;
    spi::release_answer read_release(const reply& raw) const override;
    script_call renew_call(std::span<const renewal_item> items) const override;

    // The server's own notices, if it has them on (notify-keyspace-events).
    std::string channel_of(const peer_claim& waiting) const override { return notices_ + waiting.key; }
    bool may_be_free(std::string_view message) const override {
        return message == "del" || message == "expired" || message == "evicted" || message == "rename_from" ||
               message == "move_from";
    }

private:
    const std::string prefix_;
    const std::string notices_;
};

script_call setnx_protocol::claim_call(const peer_claim& wanted) const {
    const auto mark = setnx_mark_of(wanted.key, wanted.id);
    script_call made{scripts::all().setnx_claim, mark ? 2u : 1u, 2};
    made << wanted.key;
    if (mark) made << *mark;
    made << wanted.id.hex() << whole_ms(wanted.lease);
    return made;
}

std::optional<script_call> setnx_protocol::plain_claim_call(const peer_claim& wanted) const {
    script_call made = script_call::plain_claim(6);
    made << "SET" << wanted.key << wanted.id.hex() << "PX" << whole_ms(wanted.lease) << "NX";
    return made;
}

script_call setnx_protocol::release_call(std::string_view key, const claim_id& id, bool kept) const {
    const auto mark = kept ? setnx_mark_of(key, id) : std::nullopt;
    script_call made{scripts::all().setnx_release, mark ? 2u : 1u, mark ? 2u : 1u};
    made << key;
    if (mark) made << *mark;
    made << id.hex();
    if (mark) made << whole_ms(base::ended_claim::remembered_for);
    return made;
}

spi::release_answer setnx_protocol::read_release(const reply& raw) const {
    using enum spi::release_answer;
    if (raw.is != reply::kind::integer) return unknown;
    return raw.number == 0 ? released : raw.number == 1 ? expired : taken_over;
}

script_call setnx_protocol::renew_call(std::span<const renewal_item> items) const {
    script_call made{scripts::all().setnx_renew, items.size(), 2 * items.size()};
    for (const renewal_item& one : items) made << one.key;
    for (const renewal_item& one : items) made << one.id.hex() << whole_ms(one.lease);
    return made;
}

spi::claim_answer setnx_protocol::read_claim(const reply& raw, const peer_claim& asked, spi::time_point sent) const {
    using enum spi::claim_answer::verdict;
    if (raw.failure() || raw.error())
        return not_claimed(
            raw,
            "its key in Redis is no string, so no lock of this protocol, and was left alone; use another "
            "name or the option key_prefix");
    if (raw.text == "G" || raw.text == "OK")
        return {.is = granted, .grant = {.lease = asked.lease, .counted_from = sent}};
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

}  // namespace

std::optional<std::string> setnx_mark_of(std::string_view key, const claim_id& id) {
    std::string mark = key.find('{') == std::string_view::npos ? "{" + std::string(key) + "}" : std::string(key);
    mark += ":released:" + id.hex();
    if (slot_of(mark) != slot_of(key)) return std::nullopt;
    return mark;
}

std::unique_ptr<const peer_protocol> make_setnx_protocol(const settings& config) {
    return std::make_unique<setnx_protocol>(config);
}

}  // namespace mortise::inline v0::stores::redis
