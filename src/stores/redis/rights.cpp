#include "stores/redis/rights.hpp"

#include "stores/redis/names.hpp"

#include <algorithm>

namespace mortise::inline v0::stores::redis {
namespace {

using enum right::use;

std::string everything_below(const std::string& prefix) {
    const std::string pattern = pattern_of(prefix);
    return pattern.substr(0, pattern.rfind('{')) + "*";
}

std::string key_rule(const settings& how) {
    return "~" + everything_below(how.prefix);
}

std::string channel_rule(const settings& how) {
    return "&" + everything_below(how.prefix);
}

std::string command_rules(const settings& how) {
    std::string rules;
    for (const right& one : needed_rights(how)) rules += " " + one.rule;
    return rules;
}

}  // namespace

std::vector<right> rights_of_scripts(const settings& how) {
    const std::string key = key_of(how.prefix, "some name");
    const std::string inbox = asking_party{how.prefix, "0123456789abcdef", {}}.inbox();
    return {
        {"+time", "claims", {"TIME"}, in_scripts},
        {"+exists", "claims", {"EXISTS", key}, key_in_scripts},
        {"+expire", "claims", {"EXPIRE", key, "1"}, key_in_scripts},
        {"+hdel", "releases", {"HDEL", key, "f"}, key_in_scripts},
        {"+hget", "claims", {"HGET", key, "f"}, key_in_scripts},
        {"+hgetall", "lists", {"HGETALL", key}, key_in_scripts},
        {"+hkeys", "waits", {"HKEYS", key}, key_in_scripts},
        {"+hmget", "claims", {"HMGET", key, "f"}, key_in_scripts},
        {"+hset", "claims", {"HSET", key, "f", "v"}, key_in_scripts},
        {"+publish", "waits", {"PUBLISH", inbox, "m"}, channel_in_scripts},
    };
}

right right_to_wait(const settings& how) {
    return {"+wait", "claims that wait for replicas", {"WAIT", "0", "1"}, by_itself, how.replicas > 0};
}

std::vector<right> needed_rights(const settings& how) {
    std::vector<right> all{
        {"+eval", "claims", {"EVAL", "return 1", "0"}},
        {"+evalsha", "claims", {"EVALSHA", std::string(40, '0'), "0"}},
        {"+subscribe", "claims", {"SUBSCRIBE", asking_party{how.prefix, "0123456789abcdef", {}}.inbox()}},
        {"+scan", "lists", {"SCAN", "0"}, by_itself, false},
        right_to_wait(how),
        {"+info", "checks and strict clients", {"INFO"}, by_itself, how.strict},
    };
    if (how.database != 0) all.push_back({"+select", "claims", {"SELECT", std::to_string(how.database)}});
    if (how.shape == settings::topology::cluster) {
        all.push_back({"+cluster|slots", "claims", {"CLUSTER", "SLOTS"}});
        all.push_back({"+asking", "claims while slots move", {"ASKING"}});
    }
    for (right& one : rights_of_scripts(how)) all.push_back(std::move(one));
    return all;
}

call rights_call(std::span<const right> asked) {
    std::size_t words = asked.size();
    for (const right& one : asked) words += one.sample.size();
    call made{scripts::all().rights, 0, words};
    for (const right& one : asked) {
        made << static_cast<std::int64_t>(one.sample.size());
        for (const std::string& word : one.sample) made << word;
    }
    return made;
}

std::vector<std::size_t> read_denied(const reply& said, std::size_t asked) {
    std::vector<std::size_t> denied;
    for (const reply& one : said.items)
        if (const auto place = static_cast<std::size_t>(one.number); place < asked) denied.push_back(place);
    return denied;
}

bool may_lock(std::span<const right> asked, std::span<const std::size_t> denied) {
    return std::none_of(denied.begin(), denied.end(), [&](std::size_t i) { return asked[i].for_locks; });
}

std::string shown(const settings& how, std::span<const right> asked, std::span<const std::size_t> denied) {
    const auto all_denied = [&](right::use where) {
        const auto same = [&](const right& one) { return one.where == where; };
        const auto lost = [&](std::size_t i) { return same(asked[i]); };
        return std::count_if(denied.begin(), denied.end(), lost) == std::count_if(asked.begin(), asked.end(), same);
    };
    const bool keys = all_denied(key_in_scripts);
    std::string names = keys ? key_rule(how) : "";
    for (const std::size_t i : denied)
        if (!(keys && asked[i].where == key_in_scripts)) names += (names.empty() ? "" : ", ") + asked[i].rule;
    if (all_denied(channel_in_scripts)) names += " on " + channel_rule(how);
    return names;
}

std::string acl_rules(const settings& how) {
    return "resetkeys " + key_rule(how) + " resetchannels " + channel_rule(how) + " -@all" + command_rules(how);
}

std::string acl_of_a_new_user(const settings& how) {
    const std::string name = how.user == "mortise" ? "mortise-locks" : "mortise";
    return "ACL SETUSER " + name + " on >PASSWORD " + acl_rules(how);
}

// As a selector: beside ~* or &* Redis takes no pattern, and outside of one the commands would be for all of the user's keys.
std::string acl_remedy(const settings& how) {
    if (how.user.empty() || how.user == "default") return acl_of_a_new_user(how);
    return "ACL SETUSER " + how.user + " (" + key_rule(how) + " " + channel_rule(how) + command_rules(how) + ")";
}

}  // namespace mortise::inline v0::stores::redis
