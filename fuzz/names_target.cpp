// Names of locks as keys and paths: every name has its own, and comes back from it; no other key is taken for a name's.
#include "base/limits.hpp"
#include "base/percent.hpp"
#include "fuzz/target.hpp"
#include "stores/etcd/names.hpp"
#include "stores/redis/names.hpp"
#include "stores/zookeeper/names.hpp"

#include <mortise/error.hpp>

#include <string>

namespace mortise::fuzzing::names {
namespace {

bool is_name(std::string_view text) {
    try {
        base::check_name(text);
        return true;
    } catch (const error&) {
        return false;
    }
}

const stores::etcd::key_layout& etcd_keys() {
    static const stores::etcd::settings how{};
    static const stores::etcd::key_layout made{how};
    return made;
}
const stores::zookeeper::naming paths{"/mortise", stores::zookeeper::naming::protocol::own};

void comes_back(std::string_view name) {
    namespace redis = stores::redis;
    expect(redis::name_of("mortise", redis::key_of("mortise", name)) == name, "a key of Redis");
    expect(redis::slot_of(redis::key_of("mortise", name)) < 16384, "a slot of Redis");
    static_cast<void>(redis::pattern_of(name));
    expect(etcd_keys().name_in(etcd_keys().folder_of(name) + "0.1") == name, "a key of etcd");
    const std::string line = paths.line(name);
    const std::string part = line.substr(line.rfind('/') + 1);
    expect(line == "/mortise/" + part, "a path of ZooKeeper has one element more");
    expect(part != "." && part != ".." && !part.empty(), "an element that ZooKeeper refuses");
    expect(paths.name(part) == name, "a path of ZooKeeper");
}

void are_apart(std::string_view a, std::string_view b) {
    if (a == b) return;
    expect(stores::redis::key_of("mortise", a) != stores::redis::key_of("mortise", b),
           "two names have one key of Redis");
    const std::string first = etcd_keys().folder_of(a);
    const std::string second = etcd_keys().folder_of(b);
    expect(!first.starts_with(second) && !second.starts_with(first), "a name of etcd is inside another");
    expect(paths.line(a) != paths.line(b), "two names have one path of ZooKeeper");
}

// Whatever is found in a store.
void strangers(std::string_view text) {
    if (const auto name = stores::redis::name_of("mortise", text))
        expect(stores::redis::key_of("mortise", *name) == text, "a stranger's key of Redis is taken for ours");
    if (const auto name = etcd_keys().name_in(text))
        expect(text.starts_with(etcd_keys().folder_of(*name)), "a stranger's key of etcd is taken for ours");
    static_cast<void>(stores::etcd::key_layout::lease_in(text));
    if (text.find('/') == std::string_view::npos)
        if (const auto name = paths.name(text); name && is_name(*name))
            expect(paths.line(*name) == "/mortise/" + std::string(text),
                   "a stranger's node of ZooKeeper is taken for ours");
    for (const auto protocol :
         {stores::zookeeper::naming::protocol::own, stores::zookeeper::naming::protocol::curator}) {
        const stores::zookeeper::naming reads{"/mortise", protocol};
        const std::string one{text};
        static_cast<void>(reads.read(text));
        static_cast<void>(stores::zookeeper::entries_of(reads.read_line({&one, 1})));
    }
    static_cast<void>(base::percent_decoded(text, base::hex_digits::any_case));
    static_cast<void>(base::percent_decoded_leniently(text));
}

}  // namespace

void run(std::string_view input) {
    strangers(input);
    const auto middle = input.find('\0');
    const std::string_view a = input.substr(0, middle);
    const std::string_view b = middle == std::string_view::npos ? std::string_view{} : input.substr(middle + 1);
    if (is_name(a)) comes_back(a);
    if (is_name(a) && is_name(b)) are_apart(a, b);
}

}  // namespace mortise::fuzzing::names
