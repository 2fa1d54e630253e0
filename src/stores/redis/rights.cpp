#include "stores/redis/rights.hpp"

#include "stores/redis/names.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/setnx_protocol.hpp"

#include <algorithm>
#include <utility>

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

bool redisson(const settings& config) {
    return config.protocol == settings::layout::redisson;
}

// Releases of protocol=setnx are marked under {KEY}:released:ID, leases of Redisson's readers under {KEY}:OWNER:rwlock_timeout:1.
std::string key_rule(const settings& config) {
    if (native(config)) return "~" + everything_below(config.prefix);
    if (config.key_prefix.empty()) return "~*";
    std::string rule = "~" + pattern_below(config.key_prefix) + " ~" + pattern_below("{" + config.key_prefix);
    if (redisson(config)) rule += " ~redisson_unlock_latch:*";
    if (config.fair) rule += " ~redisson_lock_queue:* ~redisson_lock_timeout:*";
    return rule;
}

// With a space before it; protocol=setnx has no channels that it needs.
std::string channel_rule(const settings& config) {
    if (redisson(config)) return std::string(" &redisson_lock__channel:*") + (config.fair ? "" : " &redisson_rwlock:*");
    return native(config) ? " &" + everything_below(config.prefix) : "";
}

// In a cluster, messages go to the node that keeps the name.
std::string in_shards(const settings& config, const std::string& command) {
    return config.shape == settings::topology::cluster ? "s" + command : command;
}

right of_command(const std::string& name, std::string without, std::vector<std::string> arguments, right::use where) {
    arguments.insert(arguments.begin(), name);
    return {"+" + name, std::move(without), std::move(arguments), where};
}

std::vector<right> rights_of_redisson(const settings& config) {
    const std::string key = config.key_prefix + "some name";
    const redisson_names names{key};
    const std::string latch = names.latch({});
    std::vector<right> all{
        {"+hlen", "claims", {"HLEN", key}, key_in_scripts},
        {"+hexists", "claims", {"HEXISTS", key, "f"}, key_in_scripts},
        {"+hset", "claims", {"HSET", key, "f", "1"}, key_in_scripts},
        {"+hkeys", "claims", {"HKEYS", key}, key_in_scripts},
        {"+exists", "claims", {"EXISTS", latch}, key_in_scripts},
        {"+pexpire", "claims", {"PEXPIRE", key, "1"}, key_in_scripts},
        {"+pttl", "claims", {"PTTL", key}, key_in_scripts},
        {"+get", "releases", {"GET", latch}, key_in_scripts},
        {"+set", "releases", {"SET", latch, "1", "PX", "1"}, key_in_scripts},
        {"+del", "releases", {"DEL", key}, key_in_scripts},
    };
    if (config.fair) {
        all.push_back({"+time", "claims", {"TIME"}, in_scripts});
        all.push_back({"+lindex", "waits", {"LINDEX", names.line, "0"}, key_in_scripts});
        all.push_back({"+lpop", "waits", {"LPOP", names.line}, key_in_scripts});
        all.push_back({"+lrange", "waits", {"LRANGE", names.line, "0", "1"}, key_in_scripts});
        all.push_back({"+lrem", "waits", {"LREM", names.line, "0", "o"}, key_in_scripts});
        all.push_back({"+rpush", "waits", {"RPUSH", names.line, "o"}, key_in_scripts});
        all.push_back({"+zadd", "waits", {"ZADD", names.ends, "1", "o"}, key_in_scripts});
        all.push_back({"+zincrby", "waits", {"ZINCRBY", names.ends, "1", "o"}, key_in_scripts});
        all.push_back({"+zrange", "waits", {"ZRANGE", names.ends, "0", "1"}, key_in_scripts});
        all.push_back({"+zrem", "waits", {"ZREM", names.ends, "o"}, key_in_scripts});
        all.push_back({"+zscore", "waits", {"ZSCORE", names.ends, "o"}, key_in_scripts});
    } else {
        all.push_back({"+hget", "claims", {"HGET", key, "f"}, key_in_scripts});
        all.push_back({"+hdel", "releases", {"HDEL", key, "f"}, key_in_scripts});
    }
    for (const std::string& channel : {names.channel, names.rw_channel}) {
        if (config.fair && channel == names.rw_channel) break;
        all.push_back(of_command(in_shards(config, "publish"), "waits", {channel, "0"}, channel_in_scripts));
        all.push_back(of_command(in_shards(config, "subscribe"), "waits", {channel}, channel_in_scripts));
    }
    return all;
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
    for (const right& one : needed_rights(config))
        if ((rules + " ").find(" " + one.rule + " ") == std::string::npos) rules += " " + one.rule;
    return rules;
}

}  // namespace

std::vector<right> rights_of_scripts(const settings& config) {
    if (redisson(config)) return rights_of_redisson(config);
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
    if (!channel_rule(config).empty() && all_denied(channel_in_scripts)) names += " on" + channel_rule(config);
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
