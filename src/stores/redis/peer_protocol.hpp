// How other clients keep a lock in Redis: keys, scripts and channels. peer_store asks the servers. Pure.
#pragma once

#include "stores/redis/messages.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// A claim, for as long as it waits.
struct peer_claim {
    std::string name{};
    std::string key{};
    claim_id id{};
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    spi::duration lease{};
    unsigned replicas = 0;
    bool queue = false;
    bool own = false;  // no other client releases it

    bool reads() const noexcept { return weight < capacity; }
};

// PX and PEXPIRE take whole milliseconds. Up: the hold must not end before we think so.
inline std::int64_t whole_ms(spi::duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

class peer_protocol {
public:
    virtual ~peer_protocol() = default;

    // Why it has no such locks. Empty: it has.
    virtual std::string objection(const spi::claim_request&) const { return {}; }

    virtual std::string key_of(std::string_view name) const = 0;

    virtual script_call claim_call(const peer_claim& wanted) const = 0;
    // A lease counts from `sent`. A reply that cannot be read is unknown.
    virtual spi::claim_answer read_claim(const reply& raw, const peer_claim& asked, spi::time_point sent) const = 0;
    // The same as a plain command, if it has one. It knows neither its repeat nor its release, and answers null if it was not
    // granted: the script says why.
    virtual std::optional<script_call> plain_claim_call(const peer_claim&) const { return std::nullopt; }

    // `kept`: it is remembered for a while, since it may be repeated, or a claim may arrive after it.
    virtual script_call release_call(std::string_view key, const claim_id& id, bool kept) const = 0;
    virtual spi::release_answer read_release(const reply& raw) const = 0;

    // Answered with a letter each, 1 if it is renewed.
    virtual script_call renew_call(std::span<const renewal_item> items) const = 0;

    // Where it is said that the lock may be free, and whether this message says so.
    virtual std::string channel_of(const peer_claim& waiting) const = 0;
    virtual bool may_be_free(std::string_view message) const = 0;
};

}  // namespace mortise::inline v0::stores::redis
