#include "checker/history/operation.hpp"

#include "checker/history/log.hpp"

#include <mortise/token.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace mortise::checker {
namespace {

using op_key = std::pair<std::uint32_t, std::uint64_t>;  // of a process

struct op_hash {
    std::size_t operator()(const op_key& key) const noexcept {
        return static_cast<std::size_t>((key.second * 0x9e3779b97f4a7c15U) ^ key.first);
    }
};

template <class Value>
using by_op = std::unordered_map<op_key, Value, op_hash>;

bool has_two_ends(act what) {
    switch (what) {
        case act::acquire:
        case act::reenter:
        case act::release:
        case act::seal:
        case act::read:
        case act::write:
        case act::truth:
            return true;
        default:
            return false;
    }
}

void by_time(std::vector<record>& records) {
    std::stable_sort(records.begin(), records.end(), [](const record& a, const record& b) { return a.at < b.at; });
}

operation begun(const record& one) {
    operation made;
    made.what = one.what;
    made.pid = one.pid;
    made.lock = one.lock;
    made.weight = one.weight;
    made.capacity = one.capacity;
    made.op = one.op;
    made.attempt = one.attempt;
    made.token = one.token;
    made.invoked = one.at;
    made.valid_until = one.valid_until;
    made.value = one.value;
    return made;
}

void end(operation& of, const record& one) {
    of.is = one.is;
    of.ended = one.is == phase::unknown ? never : one.at;
    of.answered = one.at;
    if (one.token != 0) of.token = one.token;
    if (one.valid_until != 0) of.valid_until = one.valid_until;
    if (one.value != 0) of.value = one.value;
}

}  // namespace

history merged(const std::vector<std::string>& files) {
    history all;
    for (const std::string& file : files) {
        log_contents one = read_log(file);
        all.records.insert(all.records.end(), one.records.begin(), one.records.end());
        all.torn += one.torn;
        all.full = all.full || one.full;
    }
    by_time(all.records);
    return all;
}

history sorted(std::vector<record> records) {
    history all{std::move(records)};
    by_time(all.records);
    return all;
}

std::vector<operation> operations_of(const history& all) {
    std::vector<operation> found;
    by_op<std::size_t> open;
    for (const record& one : all.records) {
        if (!has_two_ends(one.what)) continue;
        const op_key key{one.pid, one.op};
        if (one.is == phase::invoke) {
            open[key] = found.size();
            found.push_back(begun(one));
        } else if (const auto at = open.find(key); at != open.end()) {
            end(found[at->second], one);
            open.erase(at);
        }
    }
    return found;
}

std::vector<hold_span> holds_of(const history& all, const std::vector<operation>& operations) {
    std::vector<hold_span> found;
    by_op<std::size_t> places;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::int64_t>
        asked;  // of each grant of a process
    for (const operation& one : operations) {
        if (one.what != act::acquire || one.is != phase::ok) continue;
        places[{one.pid, one.op}] = found.size();
        const std::uint64_t counter = one.token >> token::turn_bits;
        std::int64_t& first = asked[{one.pid, one.lock, counter}];
        if (counter == 0 || first == 0) first = one.invoked;
        found.push_back({.grant = one, .valid_to = one.ended, .since = first});
    }
    const auto of = [&](std::uint32_t pid, std::uint64_t attempt) -> hold_span* {
        const auto at = places.find({pid, attempt});
        return at == places.end() ? nullptr : &found[at->second];
    };
    for (const record& one : all.records) {
        if (one.what != act::valid) continue;
        hold_span* mine = of(one.pid, one.attempt);
        if (mine == nullptr) continue;
        if (one.is == phase::ok) mine->valid_to = std::max(mine->valid_to, one.at);
        if (one.is == phase::lost) mine->end = phase::lost;
    }
    for (const operation& one : operations) {
        hold_span* mine = of(one.pid, one.attempt);
        if (mine == nullptr) continue;
        if (one.what == act::reenter && one.is == phase::ok) mine->reentries.push_back(one);
        if (one.what != act::release) continue;
        mine->left = one.invoked;
        mine->gone = one.ended;
        if (mine->end != phase::lost) mine->end = one.is;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const hold_span& a, const hold_span& b) { return a.grant.ended < b.grant.ended; });
    return found;
}

}  // namespace mortise::checker
