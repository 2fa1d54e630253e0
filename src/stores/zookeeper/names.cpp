#include "stores/zookeeper/names.hpp"

#include "base/kinds.hpp"
#include "base/percent.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::inline v0::stores::zookeeper {
namespace {

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

// 8-4-4-4-12 digits.
std::string uuid_of(const claim_id& id) {
    std::string text = id.hex();
    for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, "-");
    return text;
}

std::optional<claim_id> id_in_uuid(std::string_view text) {
    std::string hex{text};
    std::erase(hex, '-');
    return text.size() == 36 ? id_in(hex) : std::nullopt;
}

// Cuts off what is before the next dash, and the dash.
std::string_view part_of(std::string_view& text) {
    const std::size_t ends = std::min(text.find('-'), text.size());
    const std::string_view part = text.substr(0, ends);
    text.remove_prefix(std::min(ends + 1, text.size()));
    return part;
}

// A dot stands for itself, but not at the beginning: "." and ".." are no nodes.
std::string escaped(std::string_view name) {
    std::string part;
    if (name.starts_with('.')) {
        base::append_percent_encoded(part, '.');
        name.remove_prefix(1);
    }
    base::append_percent_encoded(part, name, [](char c) { return c <= ' ' || c >= 0x7f || c == '/' || c == '%'; });
    return part;
}

std::string own_prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at) {
    std::string prefix = of.id.hex() + "-" + std::to_string(of.capacity) + "-" + std::to_string(of.weight) + "-";
    if (stands_at)
        prefix += "p" + std::to_string(*stands_at) + "-";
    else if (of.instead_of != claim_id{})
        prefix += "i" + of.instead_of.hex() + "-";
    return prefix;
}

std::optional<node_name> read_own(std::string_view name) {
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
    const auto number = all_of<std::int32_t>(rest);  // negative after 2^31 changes of a line
    if (!number) return std::nullopt;
    one.entry.arrived = static_cast<std::uint32_t>(*number);
    one.stands_at = place.value_or(static_cast<std::uint32_t>(*number));
    one.entry.place = place ? one.stands_at : 0;
    if (place) one.entry.stamped = true;
    return one;
}

std::string curator_prefix(const base::line_entry& of) {
    const char* kind = of.capacity == 1 ? "lock-" : of.weight == of.capacity ? "__WRIT__" : "__READ__";
    return "_c_" + uuid_of(of.id) + "-" + kind;
}

// The nodes of other libraries have no id that we know; their sequence number serves as one.
std::optional<node_name> read_curator(std::string_view name) {
    if (name.size() < 10) return std::nullopt;
    const auto number = all_of<std::int32_t>(name.substr(name.size() - 10));
    if (!number) return std::nullopt;
    const std::string_view before = name.substr(0, name.size() - 10);
    const bool reads = before.ends_with("__READ__");
    const bool writes = before.ends_with("__WRIT__");
    if (!reads && !writes && !before.ends_with("lock-") && !before.ends_with("__lock__")) return std::nullopt;
    const auto unsigned_number = static_cast<std::uint32_t>(*number);
    const auto id = before.starts_with("_c_") ? id_in_uuid(before.substr(3, 36)) : std::nullopt;
    node_name one{std::string(name), {.id = id.value_or(claim_id{{0, unsigned_number}})}, unsigned_number};
    one.entry.arrived = unsigned_number;
    one.entry.capacity = reads || writes ? base::shared_capacity : 1;
    one.entry.weight = writes ? base::shared_capacity : 1;
    return one;
}

}  // namespace

std::string naming::line(std::string_view name) const {
    return root_ + "/" + (protocol_ == protocol::own ? escaped(name) : std::string(name));
}

std::optional<std::string> naming::name(std::string_view part) const {
    if (protocol_ != protocol::own)
        return root_.empty() && part == "zookeeper" ? std::nullopt : std::optional{std::string(part)};
    auto name = base::percent_decoded(part, base::hex_digits::upper_case);
    if (name && escaped(*name) != part) name.reset();  // somebody else's
    return name;
}

std::string naming::objection(std::string_view name, const base::line_entry& claim) const {
    if (protocol_ == protocol::own) return {};
    const std::string closed = "/" + std::string(name) + "/";
    for (const char* odd : {"//", "/./", "/../"})
        if (closed.find(odd) != std::string::npos)
            return "with protocol=curator a name is a path, like orders/17: no empty element, no . and no ..";
    if (closed.starts_with("/zookeeper/") && root_.empty()) return "/zookeeper is reserved for the servers";
    const bool mutex = claim.capacity == 1;
    const bool shared = base::reads(claim.capacity, claim.weight) ||
                        (claim.capacity == base::shared_capacity && claim.weight == base::shared_capacity);
    if (!mutex && !shared) return "protocol=curator has mutexes and read-write locks only";
    return {};
}

std::string naming::prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at) const {
    return protocol_ == protocol::own ? own_prefix(of, stands_at) : curator_prefix(of);
}

std::optional<node_name> naming::read(std::string_view node) const {
    return protocol_ == protocol::own ? read_own(node) : read_curator(node);
}

std::vector<node_name> naming::read_line(std::span<const std::string> nodes) const {
    constexpr std::uint64_t quarter = std::uint64_t{1} << 30;
    std::vector<node_name> line;
    bool low = false;
    bool high = false;
    for (const std::string& node : nodes) {
        auto one = read(node);
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
