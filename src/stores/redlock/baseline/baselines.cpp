#include "stores/redlock/baseline/baselines.hpp"

#include "baseline/registry.hpp"
#include "stores/redlock/baseline/parallel_client.hpp"
#include "stores/redlock/settings.hpp"

#include <mortise/claim_id.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::redlock {
namespace {

std::string command_of(std::initializer_list<std::string_view> words) {
    std::string all = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words)
        all += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
    return all;
}

// The common recipe on all servers at once: SET key value NX PX, and a script that deletes it if it is still theirs.
class majority_end final : public baseline_end {
public:
    majority_end(const std::vector<std::string>& hosts, const std::string& place) : servers_(hosts) {
        const std::string value = claim_id::random().hex();
        const std::string key = "mortise:baseline-" + place + "-" + value;
        set_ = command_of({"SET", key, value, "NX", "PX", "30000"});
        del_ = command_of({"EVAL",
                           "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0",
                           "1", key, value});
    }
    void lock() override { servers_.ask(set_); }
    void unlock() override { servers_.ask(del_); }

private:
    parallel_client servers_;
    std::string set_;
    std::string del_;
};

}  // namespace

// What one server costs is the first one's.
baselines make_baselines(const base::url& address) {
    const settings config = settings::of(address);
    std::vector<std::string> hosts;
    for (const settings::node& one : config.nodes) hosts.push_back(one.host);
    baselines found = baselines_of(config.nodes.front().address);
    for (baseline& one : found.all) one.name += ", one server";
    if (address.user.empty() && address.password.empty() && !address.query.contains("tls") &&
        !address.query.contains("password_file"))
        found.all.insert(found.all.begin(), {"SET NX, compare and delete, by a majority", baseline::kind::round_trip,
                                             [hosts](const std::string& place, unsigned) {
                                                 check_baseline_place(place);
                                                 return std::make_unique<majority_end>(hosts, place);
                                             },
                                             [](const std::string&) {}});
    found.usage = [config] {
        store_usage all;
        for (const settings::node& one : config.nodes) {
            const store_usage used = baselines_of(one.address).usage();
            if (used.commands) all.commands = all.commands.value_or(0) + *used.commands;
            if (used.processor)
                all.processor = all.processor.value_or(std::chrono::nanoseconds::zero()) + *used.processor;
            if (used.memory) all.memory = all.memory.value_or(0) + *used.memory;
        }
        return all;
    };
    return found;
}

}  // namespace mortise::inline v0::stores::redlock
