// What the user must be allowed to do. This is the one list: connections, the doctor, the tests and the README take it from
// here.
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
    // Scripts: what is denied inside of them is not named by Redis, so it is asked for beforehand.
    enum class use { key_in_scripts, channel_in_scripts, in_scripts, by_itself };

    std::string rule;                 // "+hset"
    std::string without;              // what does not work: "claims"
    std::vector<std::string> sample;  // a call that needs it
    use where = use::by_itself;
    bool for_locks = true;  // else they can be had without it, and only something else does not work
};

// Those of this address: a database or a cluster needs more.
std::vector<right> needed_rights(const settings& how);
std::vector<right> rights_of_scripts(const settings& how);
right right_to_wait(const settings& how);  // for replicas

// Asks which of them are denied; makes none of the calls. The answer is their places.
call rights_call(std::span<const right> asked);
std::vector<std::size_t> read_denied(const reply& said, std::size_t asked);

// Whether those that are left suffice for it.
bool may_lock(std::span<const right> asked, std::span<const std::size_t> denied);

// "~mortise:*, +publish". Where nothing may be done to any key it is the keys that are missing, not the commands.
std::string shown(const settings& how, std::span<const right> asked, std::span<const std::size_t> denied);

// What follows the user's name and password in an ACL, and nothing more than is needed.
std::string acl_rules(const settings& how);

// For redis-cli: makes a user that may do no more than that. Its name is not that of the address.
std::string acl_of_a_new_user(const settings& how);

// For redis-cli: gives the user of the address what it lacks, and takes nothing from it. The default user is left alone; a
// new one is made instead.
std::string acl_remedy(const settings& how);

}  // namespace mortise::inline v0::stores::redis
