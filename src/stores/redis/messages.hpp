// What the scripts are told and what they answer (see lua/). Pure.
#pragma once

#include "stores/redis/packed_record.hpp"
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

// A call of a script: once by the digest, and with the source if the server does not know it.
class call {
public:
    call(const script& which, std::size_t keys, std::size_t arguments);
    call& operator<<(std::string_view argument);
    call& operator<<(std::int64_t argument);
    call& operator<<(const packed_record& argument) { return *this << argument.bytes(); }

    bool takes() const noexcept;  // a claim
    const std::string& by_digest() const noexcept { return bytes_; }
    std::string by_source() const;

private:
    const script* script_;
    std::size_t count_;
    std::string bytes_;
    std::size_t head_ = 0;  // of them, up to the digest
};

call claim_call(const asking_party& who, std::string_view key, const spi::claim_request& wanted, bool durable);
// A claim that the script refuses before it changes anything. A server that takes no claims refuses it for its own
// reason, and before.
call claim_in_vain();
// Why no claim is taken, of its answer; empty: they are.
std::string read_why_not(const reply& said);

call release_call(const asking_party& who, std::string_view key, const claim_id& id);
call refresh_call(const asking_party& who, std::string_view key);
call break_call(const asking_party& who, std::string_view key, std::uint64_t counter);
call show_call(std::string_view key);
call clock_ahead_call(std::string_view key);

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
// Of a claim with that capacity. Granted and counted from `sent`. What cannot be read is unknown.
claim_reply read_claim(const reply& said, spi::time_point sent, std::uint32_t claimed);

// An error that the server gave instead of an answer, in our terms.
struct complaint {
    std::error_code code{};
    std::string what{};
    bool passing = false;  // it may be gone soon
    net::trouble::remedy helps{};

    // For users: names the doctor where it prints what helps.
    std::string advice() const;
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
