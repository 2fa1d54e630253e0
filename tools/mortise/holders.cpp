#include "holders.hpp"

#include "text.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace command {

std::string who(const mortise::holder& one) {
    std::string text = one.host.empty() ? "another program" : plain(one.host);
    if (one.pid != 0) text += " pid " + std::to_string(one.pid);
    return one.label.empty() ? text : text + " (" + plain(one.label) + ")";
}

std::string how_long(const mortise::holder& one, const std::string& before) {
    return one.held_for ? before + "for " + readable(*one.held_for) : "";
}

std::string share_of(const mortise::held_lock& one) {
    constexpr std::uint32_t shared = std::uint32_t{1} << 31;
    if (one.weight == one.capacity) return one.capacity == shared ? "writing" : "alone";
    if (one.capacity == shared) return one.weight == 1 ? "reading" : "upgradeable";
    return std::to_string(one.weight) + " of " + std::to_string(one.capacity);
}

std::vector<std::string> as_table(const std::vector<mortise::held_lock>& all) {
    using row = std::array<std::string, 6>;
    std::vector<row> rows{{"NAME", "HOLDER", "HELD FOR", "SHARE", "WAITING", "TOKEN"}};
    for (const mortise::held_lock& one : all) {
        rows.push_back({plain(one.name), who(one.holder),
                        one.holder.held_for ? readable(*one.holder.held_for) : "-", share_of(one),
                        std::to_string(one.waiting), mortise::to_string(one.holder.token)});
    }
    std::array<std::size_t, 6> widest{};
    for (const row& each : rows)
        for (std::size_t column = 0; column < each.size(); ++column)
            widest[column] = std::max(widest[column], each[column].size());
    std::vector<std::string> lines;
    for (const row& each : rows) {
        std::string line;
        for (std::size_t column = 0; column + 1 < each.size(); ++column)
            line += each[column] + std::string(widest[column] - each[column].size() + 2, ' ');
        lines.push_back(line + each.back());
    }
    return lines;
}

json as_json(const mortise::holder& one) {
    json made;
    made.add("host", one.host).add("pid", one.pid).add("label", one.label);
    if (one.held_for)
        made.add("held_for_s", std::chrono::duration<double>(*one.held_for).count());
    else
        made.add("held_for_s", nullptr);
    made.add("token", mortise::to_string(one.token));
    return made;
}

json as_json(const mortise::held_lock& one) {
    json made;
    made.add("name", one.name).add("holder", as_json(one.holder));
    made.add("capacity", std::int64_t{one.capacity}).add("weight", std::int64_t{one.weight});
    made.add("waiting", static_cast<std::int64_t>(one.waiting));
    return made;
}

}  // namespace command
