// What Mortise says to etcd and hears from it, and no more of its interface than that.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mortise::inline v0::stores::etcd::rpc {

struct key_value {
    std::string key{};
    std::int64_t create_revision = 0;
    std::int64_t mod_revision = 0;
    std::string value{};
    std::int64_t lease = 0;
};

// ---- asked. Each becomes bytes by encoded().

enum order { any_order = 0, ascending = 1, descending = 2 };

struct range_request {
    std::string key{};
    std::string range_end{};
    std::int64_t limit = 0;
    order by_creation = any_order;
    std::int64_t max_create_revision = 0;  // 0: all
    bool of_this_member = false;           // as it knows it, which may be a little old
};
struct put_request {
    std::string key{};
    std::string value{};
    std::int64_t lease = 0;
    bool only_touch = false;  // its value and its lease stay as they are
};
struct delete_request {
    std::string key{};
    std::string range_end{};
    bool prev_kv = false;
};
using operation = std::variant<range_request, put_request, delete_request>;

struct compare {
    enum comparison { equal = 0, greater = 1, less = 2 };
    enum compared { create_revision = 1, mod_revision = 2, value = 3 };

    std::string key{};
    std::string range_end{};
    compared target = create_revision;
    comparison result = equal;
    std::int64_t revision = 0;  // to compare with, or
    std::string text{};         // for a value
};
struct txn_request {
    std::vector<compare> compares{};
    std::vector<operation> success{};
    std::vector<operation> failure{};
};

struct watch_create {
    std::string key{};
    std::string range_end{};
    std::int64_t start_revision = 0;
    std::int64_t watch_id = 0;
    bool no_puts = true;
    bool no_deletes = false;
};
struct watch_cancel {
    std::int64_t watch_id = 0;
};
struct lease_grant_request {
    std::int64_t ttl = 0;
    std::int64_t id = 0;
};
struct lease_id {  // keep, revoke, ask how much is left
    std::int64_t id = 0;
};
struct credentials {
    std::string name{};
    std::string password{};
};

std::string encoded(const range_request&);
std::string encoded(const put_request&);
std::string encoded(const delete_request&);
std::string encoded(const txn_request&);
std::string encoded(const watch_create&);
std::string encoded(const watch_cancel&);
std::string encoded(const lease_grant_request&);
std::string encoded(const lease_id&);
std::string encoded(const credentials&);

// ---- answered. decode() is false if it is not such a message; what it has read by then may stay.

struct range_response {
    std::int64_t revision = 0;  // 0: it is a part of a transaction
    std::vector<key_value> kvs{};
    bool more = false;
};
struct put_response {};
struct delete_response {
    std::int64_t deleted = 0;
    std::vector<key_value> prev_kvs{};
};
using result = std::variant<std::monostate, range_response, put_response, delete_response>;

struct txn_response {
    std::int64_t revision = 0;
    bool succeeded = false;
    std::vector<result> responses{};
};
struct event {
    bool deleted = false;
    key_value kv{};
};
struct watch_response {
    std::int64_t revision = 0;
    std::int64_t watch_id = 0;
    bool created = false;
    bool canceled = false;
    std::int64_t compact_revision = 0;
    std::vector<event> events{};
};
struct lease_response {  // granted, kept, or how much is left
    std::int64_t id = 0;
    std::int64_t ttl = 0;  // kept: 0, or left: -1, there is no such lease
    std::int64_t granted_ttl = 0;
};
struct admission {
    std::string token{};
};
struct status_response {
    std::string version{};
    std::uint64_t leader = 0;
    std::vector<std::string> errors{};
    bool learner = false;  // it has no vote
};

bool decode(std::string_view bytes, range_response& into);
bool decode(std::string_view bytes, delete_response& into);
bool decode(std::string_view bytes, txn_response& into);
bool decode(std::string_view bytes, watch_response& into);
bool decode(std::string_view bytes, lease_response& into);
bool decode(std::string_view bytes, admission& into);
bool decode(std::string_view bytes, status_response& into);

}  // namespace mortise::inline v0::stores::etcd::rpc
