#include "stores/zookeeper/names.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::inline v0::stores::zookeeper {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

// What stands for itself. A dot does not at the beginning: "." and ".." are no nodes.
bool plain(char c, bool first) {
    return c > ' ' && c < 0x7f && c != '/' && c != '%' && !(first && c == '.');
}

template <class Number>
std::optional<Number> all_of(std::string_view text, int base = 10) {
    Number n{};
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (failed != std::errc{} || stop != text.data() + text.size() || text.empty()) return std::nullopt;
    return n;
}

std::optional<claim_id> id_in(std::string_view hex) {
    if (hex.size() != 32) return std::nullopt;
    const auto high = all_of<std::uint64_t>(hex.substr(0, 16), 16);
    const auto low = all_of<std::uint64_t>(hex.substr(16), 16);
    if (!high || !low) return std::nullopt;
    return claim_id{{*high, *low}};
}

// Up to the next dash, which is taken away too.
std::string_view part_of(std::string_view& text) {
    const std::size_t ends = std::min(text.find('-'), text.size());
    const std::string_view part = text.substr(0, ends);
    text.remove_prefix(std::min(ends + 1, text.size()));
    return part;
}

}  // namespace

std::string path_of(std::string_view root, std::string_view name) {
    std::string path{root};
    path += '/';
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (plain(name[i], i == 0)) {
            path += name[i];
            continue;
        }
        const auto byte = static_cast<unsigned char>(name[i]);
        path += '%';
        path += digits[byte >> 4];
        path += digits[byte & 15];
    }
    return path;
}

std::optional<std::string> name_of(std::string_view part) {
    std::string name;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] != '%') {
            name += part[i];
            continue;
        }
        if (i + 2 >= part.size()) return std::nullopt;
        const std::size_t high = digits.find(part[i + 1]);
        const std::size_t low = digits.find(part[i + 2]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        name += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return name;
}

std::string entry_prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at) {
    std::string prefix = of.id.hex() + "-" + std::to_string(of.capacity) + "-" + std::to_string(of.weight) + "-";
    if (stands_at)
        prefix += "p" + std::to_string(*stands_at) + "-";
    else if (of.instead_of != claim_id{})
        prefix += "i" + of.instead_of.hex() + "-";
    return prefix;
}

std::optional<node_name> read_entry(std::string_view name) {
    std::string_view rest = name;
    const auto id = id_in(part_of(rest));
    const auto capacity = all_of<std::uint32_t>(part_of(rest));
    const auto weight = all_of<std::uint32_t>(part_of(rest));
    if (!id || !capacity || !weight) return std::nullopt;
    node_name one{std::string(name), {.id = *id, .capacity = *capacity, .weight = *weight}};
    std::optional<std::uint32_t> place;
    if (rest.starts_with('i')) {
        const auto old = id_in(part_of(rest).substr(1));
        if (!old) return std::nullopt;
        one.entry.instead_of = *old;
    } else if (rest.starts_with('p')) {
        place = all_of<std::uint32_t>(part_of(rest).substr(1));
        if (!place) return std::nullopt;
    }
    const auto number = all_of<std::int32_t>(rest);  // after 2^31 changes of a line it is negative
    if (!number) return std::nullopt;
    one.entry.arrived = static_cast<std::uint32_t>(*number);
    one.stands_at = place.value_or(static_cast<std::uint32_t>(*number));
    one.entry.place = place ? one.stands_at : 0;
    if (place) one.entry.stamped = true;
    return one;
}

std::vector<node_name> line_of(std::span<const std::string> names) {
    constexpr std::uint64_t quarter = std::uint64_t{1} << 30;
    std::vector<node_name> line;
    bool low = false;
    bool high = false;
    for (const std::string& name : names) {
        auto one = read_entry(name);
        if (!one) continue;
        for (const std::uint64_t number : {one->entry.arrived, std::uint64_t{one->stands_at}}) {
            low = low || number < quarter;
            high = high || number >= 3 * quarter;
        }
        line.push_back(std::move(*one));
    }
    const auto comparable = [&](std::uint64_t number) {  // and never zero
        return 1 + number + (low && high && number < quarter ? 4 * quarter : 0);
    };
    for (node_name& one : line) {
        if (one.entry.stamped) one.entry.place = comparable(one.stands_at);
        one.entry.arrived = comparable(one.entry.arrived);
    }
    return line;
}

std::vector<base::line_entry> entries_of(std::span<const node_name> line) {
    std::vector<base::line_entry> entries;
    entries.reserve(line.size());
    for (const node_name& one : line) entries.push_back(one.entry);
    return entries;
}

const node_name* find(std::span<const node_name> line, const claim_id& id) {
    const auto it = std::find_if(line.begin(), line.end(), [&](const node_name& one) { return one.entry.id == id; });
    return it != line.end() ? &*it : nullptr;
}

}  // namespace mortise::inline v0::stores::zookeeper
