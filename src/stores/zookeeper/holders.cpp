#include "stores/zookeeper/holders.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::inline v0::stores::zookeeper {

namespace {

constexpr std::string_view keeps_word = " keeps";

}  // namespace

std::string holder_record(std::string_view host, std::int64_t pid, std::string_view label, bool keeps) {
    std::string record = std::string(host) + "\n" + std::to_string(pid);
    if (keeps) record += keeps_word;
    return record + "\n" + std::string(label);
}

bool keeps_idle(std::string_view data) {
    data.remove_prefix(std::min(data.find('\n'), data.size()));
    return data.substr(0, data.find('\n', 1)).ends_with(keeps_word);
}

holder read_holder(std::string_view data) {
    const auto next_line = [&] {
        const std::size_t ends = std::min(data.find('\n'), data.size());
        const std::string_view line = data.substr(0, ends);
        data.remove_prefix(std::min(ends + 1, data.size()));
        return line;
    };
    holder found;
    found.host = next_line();
    const std::string_view pid = next_line();
    std::from_chars(pid.data(), pid.data() + pid.size(), found.pid);
    found.label = data;
    return found;
}

std::vector<node_name> holders_of(std::span<const node_name> line) {
    std::vector<node_name> holders(line.begin(), line.end());
    std::sort(holders.begin(), holders.end(),
              [](const node_name& a, const node_name& b) { return a.entry.stands_at() < b.entry.stands_at(); });
    const std::vector<base::line_entry> entries = entries_of(holders);
    const auto waits = std::find_if(holders.begin(), holders.end(), [&](const node_name& one) {
        return base::judge(entries, one.entry.id).is != base::line_verdict::verdict::holds;
    });
    holders.erase(waits, holders.end());
    return holders;
}

}  // namespace mortise::inline v0::stores::zookeeper
