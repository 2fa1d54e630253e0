#include "stores/redis/rights.hpp"

#include "stores/redis/names.hpp"
#include "stores/redis/setnx_protocol.hpp"

#include <algorithm>

namespace mortise::inline v0::stores::redis {
namespace {

using enum right::use;

std::string everything_below(const std::string& prefix) {
    const std::string pattern = pattern_of(prefix);
    return pattern.substr(0, pattern.rfind('{')) + "*";
}

bool native(const settings& config) {
    return config.protocol == settings::layout::native;
}

// Releases of protocol=setnx are marked under {KEY}:released:ID.
std::string key_rule(const settings& config) {
    if (native(config)) return "~" + everything_below(config.prefix);
    const std::string marks = "{" + config.key_prefix;
    return "~" + pattern_below(config.key_prefix) + (config.key_prefix.empty() ? "" : " ~" + pattern_below(marks));
}

// With a space before it; protocol=setnx has no channels.
std::string channel_rule(const settings& config) {
    return native(config) ? " &" + everything_below(config.prefix) : "";
}

std::vector<right> rights_of_setnx(const settings& config) {
    const std::string key = config.key_prefix + "some name";
    const std::string mark = setnx_mark_of(key, {}).value_or(key);
    return {
        {"+get", "claims", {"GET", key}, key_in_scripts},
        {"+set", "claims", {"SET", key, "v", "PX", "1"}, key_in_scripts},
        {"+exists", "claims", {"EXISTS", mark}, key_in_scripts},
        {"+pttl", "claims", {"PTTL", key}, key_in_scripts},
        {"+pexpire", "renewals", {"PEXPIRE", key, "1", "GT"}, key_in_scripts},
        {"+del", "releases", {"DEL", key}, key_in_scripts},
    };
}

std::string command_rules(const settings& config) {
    std::string rules;
    for (const right& one : needed_rights(config)) rules += " " + one.rule;
    return rules;
}

}  // namespace

std::vector<right> rights_of_scripts(const settings& config) {
    if (!native(config)) return rights_of_setnx(config);
    const std::string key = key_of(config.prefix, "some name");
    const std::string inbox = client_identity{config.prefix, "0123456789abcdef", {}}.inbox();
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

right right_to_wait(const settings& config) {
    return {"+wait", "claims that wait for replicas", {"WAIT", "0", "1"}, by_itself, config.replicas > 0};
}

std::vector<right> needed_rights(const settings& config) {
    std::vector<right> all{
        {"+eval", "claims", {"EVAL", "return 1", "0"}},
        {"+evalsha", "claims", {"EVALSHA", std::string(40, '0'), "0"}},
    };
    if (native(config)) {
        const std::string inbox = client_identity{config.prefix, "0123456789abcdef", {}}.inbox();
        all.push_back({"+subscribe", "claims", {"SUBSCRIBE", inbox}});
        all.push_back({"+scan", "lists", {"SCAN", "0"}, by_itself, false});
    }
    all.push_back(right_to_wait(config));
    all.push_back({"+info", "checks and strict clients", {"INFO"}, by_itself, config.strict});
    if (config.database != 0) all.push_back({"+select", "claims", {"SELECT", std::to_string(config.database)}});
    if (config.shape == settings::topology::cluster) {
        all.push_back({"+cluster|slots", "claims", {"CLUSTER", "SLOTS"}});
        all.push_back({"+asking", "claims while slots move", {"ASKING"}});
    }
    for (right& one : rights_of_scripts(config)) all.push_back(std::move(one));
    return all;
}

script_call rights_call(std::span<const right> asked) {
    std::size_t words = asked.size();
    for (const right& one : asked) words += one.sample.size();
    script_call made{scripts::all().rights, 0, words};
    for (const right& one : asked) {
        made << static_cast<std::int64_t>(one.sample.size());
        for (const std::string& word : one.sample) made << word;
    }
    return made;
}

std::vector<std::size_t> read_denied(const reply& answer, std::size_t asked) {
    std::vector<std::size_t> denied;
    for (const reply& one : answer.items)
        if (const auto place = static_cast<std::size_t>(one.number); place < asked) denied.push_back(place);
    return denied;
}

bool may_lock(std::span<const right> asked, std::span<const std::size_t> denied) {
    return std::none_of(denied.begin(), denied.end(), [&](std::size_t i) { return asked[i].for_locks; });
}

std::string shown(const settings& config, std::span<const right> asked, std::span<const std::size_t> denied) {
    const auto all_denied = [&](right::use where) {
        const auto same = [&](const right& one) { return one.where == where; };
        const auto lost = [&](std::size_t i) { return same(asked[i]); };
        return std::count_if(denied.begin(), denied.end(), lost) == std::count_if(asked.begin(), asked.end(), same);
    };
    const bool keys = all_denied(key_in_scripts);
    std::string names = keys ? key_rule(config) : "";
    for (const std::size_t i : denied)
        if (!(keys && asked[i].where == key_in_scripts)) names += (names.empty() ? "" : ", ") + asked[i].rule;
    if (native(config) && all_denied(channel_in_scripts)) names += " on" + channel_rule(config);
    return names;
}

std::string acl_rules(const settings& config) {
    return "resetkeys " + key_rule(config) + " resetchannels" + channel_rule(config) + " -@all" + command_rules(config);
}

std::string acl_of_a_new_user(const settings& config) {
    const std::string name = config.user == "mortise" ? "mortise-locks" : "mortise";
    return "ACL SETUSER " + name + " on >PASSWORD " + acl_rules(config);
}

// As a selector: Redis rejects patterns beside ~* or &*, and outside a selector the commands would apply to all keys of the user.
std::string acl_remedy(const settings& config) {
    if (config.user.empty() || config.user == "default") return acl_of_a_new_user(config);
    return "ACL SETUSER " + config.user + " (" + key_rule(config) + channel_rule(config) + command_rules(config) + ")";
}

}  // namespace mortise::inline v0::stores::redis
