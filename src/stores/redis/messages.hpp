// What the scripts are told and what they answer (see lua/). Pure.
#pragma once

#include "stores/redis/resp.hpp"
#include "stores/redis/scripts.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

// How long a client that waits is taken to be alive after it was last heard of, and how often it makes itself heard.
inline constexpr std::chrono::seconds waiting_life{6};
inline constexpr std::chrono::seconds refresh_every{2};

// The first lease of a pushed grant.
inline constexpr std::chrono::seconds push_grace{3};

// Who asks.
struct asking_party {
    std::string prefix;
    std::string client;  // 16 hex digits
    std::string host;
    std::int64_t pid = 0;
    bool receivers_count = true;  // PUBLISH tells whether anybody was reached; not in a cluster

    std::string inboxes() const { return prefix + ":inbox:"; }
    std::string inbox() const { return inboxes() + client; }
};

// As it stands in arguments, records and messages.
std::string bytes_of(const claim_id& id);
// Numbers, as they stand in arguments. Times are microseconds; `life` is that of a client that waits.
std::string packed_wish(std::uint32_t capacity, std::uint32_t weight, std::int64_t lease, bool queue, bool must_write);
std::string packed_terms(std::int64_t life, std::int64_t grace, bool counted);
std::string packed_lease(std::int64_t lease);

// A call of a script: once by the digest, and with the source if the server does not know it.
class call {
public:
    call(const script& which, std::size_t keys, std::size_t arguments);
    call& operator<<(std::string_view argument);
    call& operator<<(std::int64_t argument);

    bool takes() const noexcept;  // a claim
    std::string by_digest() const;
    std::string by_source() const;

private:
    const script* script_;
    std::size_t count_;
    std::string rest_;
};

call claim_call(const asking_party& who, std::string_view key, const spi::claim_request& wanted, bool durable);
call release_call(const asking_party& who, std::string_view key, const claim_id& id);
call refresh_call(const asking_party& who, std::string_view key);
call break_call(const asking_party& who, std::string_view key, std::uint64_t counter);
call show_call(std::string_view key);

struct renewal_item {
    std::string key;
    claim_id id;
    spi::duration lease;
};
call renew_call(std::span<const renewal_item> items);

// The server's clock.
using server_time = std::chrono::microseconds;

struct claim_reply {
    spi::claim_answer answer;
    std::optional<server_time> now{};  // when it was answered
};
// Granted and counted from `sent`. What cannot be read is unknown.
claim_reply read_claim(const reply& said, spi::time_point sent);

// An error that the server gave instead of an answer, in our terms. `passing`: it may be gone soon.
struct complaint {
    std::error_code code{};
    std::string what{};
    bool passing = false;
};
complaint read_error(const reply& said);

struct push {
    bool granted = false;  // else: lost
    claim_id id{};
    std::uint64_t counter = 0;
    spi::duration lease{};
    spi::duration left{};
    server_time at{};
    std::string_view key{};
};
std::optional<push> read_push(std::string_view message);

std::vector<spi::listed> read_shown(const reply& said, std::string_view name);

}  // namespace mortise::inline v0::stores::redis
