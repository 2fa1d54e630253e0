#include "holders.hpp"

#include "text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <tuple>

namespace command {
namespace {

constexpr std::size_t gap = 2;  // between columns

// Narrows name and holder, the first two, until all fits; answers how many columns do.
std::size_t fit(std::span<std::size_t> widest, std::size_t width) {
    constexpr std::size_t least = 10;
    std::size_t shown = widest.size();
    const auto sum = [&] {
        std::size_t all = gap * (shown - 1);
        for (std::size_t column = 0; column < shown; ++column) all += widest[column];
        return all;
    };
    const auto narrow = [&](std::size_t& column) {
        const std::size_t over = sum() - std::min(sum(), width);
        column -= std::min(over, column - std::min(column, least));
    };
    narrow(widest[widest[0] > widest[1] ? 0 : 1]);
    narrow(widest[0]);
    narrow(widest[1]);
    while (shown > 1 && sum() > width) --shown;
    if (sum() > width) widest[0] = width;
    return shown;
}

void add_seconds(json& to, std::string_view key, const std::optional<std::chrono::nanoseconds>& span) {
    if (span)
        to.add(key, std::chrono::duration<double>(*span).count());
    else
        to.add(key, nullptr);
}

}  // namespace

std::string holder_text(const mortise::holder& one) {
    std::string text = one.host.empty() ? "another program" : plain(one.host);
    if (one.pid != 0) text += " pid " + std::to_string(one.pid);
    return one.label.empty() ? text : text + " (" + plain(one.label) + ")";
}

std::string held_for_text(const mortise::holder& one, const std::string& before) {
    return one.held_for ? before + "for " + readable(*one.held_for) : "";
}

std::string lease_left_text(const mortise::held_lock& one, const std::string& before) {
    return one.lease_left ? before + "lease ends in " + readable(*one.lease_left) : "";
}

std::string share_of(const mortise::held_lock& one) {
    constexpr std::uint32_t shared = std::uint32_t{1} << 31;
    if (one.weight == one.capacity) return one.capacity == shared ? "writing" : "alone";
    if (one.capacity == shared) return one.weight == 1 ? "reading" : "upgradeable";
    return std::to_string(one.weight) + " of " + std::to_string(one.capacity);
}

std::vector<std::string> as_table(const std::vector<mortise::held_lock>& all, std::optional<std::size_t> width,
                                  std::string* hidden) {
    using row = std::array<std::string, 7>;
    std::vector<row> rows{{"NAME", "HOLDER", "HELD", "LEFT", "SHARE", "WAIT", "TOKEN"}};
    const auto or_dash = [](const auto& span) { return span ? readable(*span) : std::string("-"); };
    for (const mortise::held_lock& one : all) {
        rows.push_back({plain(one.name), holder_text(one.holder), or_dash(one.holder.held_for), or_dash(one.lease_left),
                        share_of(one), std::to_string(one.waiting), mortise::to_string(one.holder.token)});
    }
    std::array<std::size_t, std::tuple_size_v<row>> widest{};
    for (const row& each : rows)
        for (std::size_t column = 0; column < each.size(); ++column)
            widest[column] = std::max(widest[column], columns_in(each[column]));
    const std::size_t shown = width ? fit(widest, *width) : widest.size();
    const std::size_t left_out = widest.size() - shown;
    if (hidden != nullptr && left_out > 0)
        *hidden = std::to_string(left_out) + (left_out == 1 ? " column" : " columns") +
                  " hidden: widen the terminal, or use --json";
    std::vector<std::string> lines;
    for (const row& each : rows) {
        std::string line;
        for (std::size_t column = 0; column < shown; ++column) {
            const std::string cell = width ? fitted(each[column], widest[column]) : each[column];
            line += cell;
            if (column + 1 < shown) line += std::string(widest[column] - columns_in(cell) + gap, ' ');
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

json as_json(const mortise::holder& one) {
    json made;
    made.add("host", one.host).add("pid", one.pid).add("label", one.label);
    add_seconds(made, "held_for_s", one.held_for);
    made.add("token", mortise::to_string(one.token));
    return made;
}

json as_json(const mortise::held_lock& one) {
    json made;
    made.add("name", one.name).add("holder", as_json(one.holder));
    made.add("capacity", std::int64_t{one.capacity}).add("weight", std::int64_t{one.weight});
    made.add("waiting", static_cast<std::int64_t>(one.waiting));
    add_seconds(made, "lease_left_s", one.lease_left);
    return made;
}

}  // namespace command
