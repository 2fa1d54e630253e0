// The permissions that the user needs. The only list of them: connections, the doctor, the tests and the README use it.
#pragma once

#include "stores/redis/messages.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

struct right {
    // Redis does not say which command was denied inside a script, so those are checked beforehand.
    enum class use { key_in_scripts, channel_in_scripts, in_scripts, by_itself };

    std::string rule;                 // "+hset"
    std::string without;              // the feature that needs it: "claims"
    std::vector<std::string> sample;  // a call that needs it
    use where = use::by_itself;
    bool for_locks = true;  // false: only another feature needs it
};

// For this address: a database or a cluster needs more.
std::vector<right> needed_rights(const settings& config);
std::vector<right> rights_of_scripts(const settings& config);
right right_to_wait(const settings& config);  // for replicas

// Asks which of them are denied, without running the commands. The reply lists their indexes.
script_call rights_call(std::span<const right> asked);
std::vector<std::size_t> read_denied(const reply& answer, std::size_t asked);

// Whether locks work without the denied ones.
bool may_lock(std::span<const right> asked, std::span<const std::size_t> denied);

// "~mortise:*, +publish". If every command on keys is denied, it is the key pattern that is missing.
std::string shown(const settings& config, std::span<const right> asked, std::span<const std::size_t> denied);

// The rules of an ACL, after the user's name and password: only what is needed.
std::string acl_rules(const settings& config);

// For redis-cli: creates a user with only these permissions. Its name differs from the one in the address.
std::string acl_of_a_new_user(const settings& config);

// For redis-cli: adds what the user of the address lacks, and removes nothing. The default user is left alone; this creates a
// new one instead.
std::string acl_remedy(const settings& config);

}  // namespace mortise::inline v0::stores::redis
