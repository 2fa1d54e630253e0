// Arguments and replies of the scripts (see lua/). Pure.
#pragma once

#include "stores/redis/packed_record.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/settings.hpp"

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

// Waiters send a heartbeat every 2 s, and are dropped after 6 s without one.
inline constexpr std::chrono::seconds waiter_life{6};
inline constexpr std::chrono::seconds heartbeat_every{2};

// The client that calls a script.
struct client_identity {
    std::string prefix;
    std::string client;  // 16 hex digits
    std::string host;
    std::int64_t pid = 0;
    bool receivers_count = true;  // PUBLISH returns whether the client received it; not in a cluster

    std::string inboxes() const { return prefix + ":inbox:"; }
    std::string inbox() const { return inboxes() + client; }
};

// A call of a script: by its digest, or with its source if the server does not know it. Or a plain command, which is the same
// both ways.
class script_call {
public:
    script_call(const script& which, std::size_t keys, std::size_t arguments);
    static script_call plain_claim(std::size_t words);  // the words follow, the name of the command first
    script_call& operator<<(std::string_view argument);
    script_call& operator<<(std::int64_t argument);
    script_call& operator<<(const packed_record& argument) { return *this << argument.bytes(); }

    bool takes() const noexcept;  // a claim
    bool plain() const noexcept { return script_ == nullptr; }
    const script& called() const noexcept { return *script_; }  // unless it is plain
    const std::string& by_digest() const noexcept { return bytes_; }
    std::string by_source() const;

private:
    script_call() = default;

    const script* script_ = nullptr;  // none: a plain command, which claims
    std::size_t count_ = 0;
    std::string bytes_;
    std::size_t head_ = 0;  // of them, up to the digest
};

script_call claim_call(const client_identity& client, std::string_view key, const spi::claim_request& wanted,
                       bool durable);
// A claim with bad arguments: the script refuses it before it changes anything. A server that accepts no claims gives its own
// error instead.
script_call claim_in_vain();
// From its reply, why the server accepts no claims. Empty: it accepts them.
std::string read_why_not(const reply& raw);

// A grant that too few replicas have. A retry may succeed: the master has granted it, and the replicas may catch up.
spi::claim_answer not_durable(const settings& config, unsigned have, unsigned wanted);

script_call release_call(const client_identity& client, std::string_view key, const claim_id& id);
script_call heartbeat_call(const client_identity& client, std::string_view key);
script_call break_call(const client_identity& client, std::string_view key, std::uint64_t counter);
// `memory`: the key of the server's token_memory (names.hpp).
script_call raise_call(const client_identity& client, std::string_view key, std::string_view memory,
                       const spi::raise_request& which);
spi::raise_answer read_raise(const reply& answer);
script_call recall_call(std::string_view memory, const spi::recall_request& asked);
std::optional<spi::token_memory> read_recall(const reply& answer);
script_call show_call(std::string_view key);
script_call clock_ahead_call(std::string_view key);

struct renewal_item {
    std::string key;
    claim_id id;
    spi::duration lease;
};
script_call renew_call(std::span<const renewal_item> items);

// The server's clock.
using server_time = std::chrono::microseconds;

struct claim_reply {
    spi::claim_answer answer;
    std::optional<server_time> now{};  // when the script ran
};
// `claimed`: the capacity in the claim. A lease counts from `sent`. A reply that cannot be read is unknown.
claim_reply read_claim(const reply& answer, spi::time_point sent, std::uint32_t claimed);

// An error reply of the server, as one of our errors.
struct error_reply {
    std::error_code code{};
    std::string what{};
    bool passing = false;  // worth a retry
    net::trouble::remedy helps{};

    // For users: refers to the doctor if it prints the remedy.
    std::string advice() const;
};
error_reply read_error(const reply& raw);

// A claim that was answered with an error, or not at all. `foreign`: what to say of a key that holds something else, if not that it
// is no lock of ours.
spi::claim_answer not_claimed(const reply& raw, std::string_view foreign = {});

struct inbox_message {
    enum class news : unsigned char { granted, lost, wanted };  // wanted: somebody asks for what is kept
    news is = news::lost;
    claim_id id{};
    std::uint64_t counter = 0;
    spi::duration lease{};
    spi::duration left{};
    server_time at{};
    std::string_view key{};
};
std::optional<inbox_message> read_inbox_message(std::string_view message);

std::vector<spi::listed> read_shown(const reply& answer, std::string_view name);

}  // namespace mortise::inline v0::stores::redis
