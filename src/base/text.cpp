#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace mortise::inline v0::base {

std::string quoted(std::string_view text) {
    constexpr std::size_t most = 80;
    constexpr char digits[] = "0123456789abcdef";
    const bool plain = valid_utf8(text) && !has_control(text);
    std::string out = "'";
    std::size_t end = std::min(text.size(), most);
    while (plain && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    for (char c : text.substr(0, end)) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain || (byte >= 0x20 && byte < 0x7f)) {
            out += c;
        } else {
            out += "\\x";
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    if (end < text.size()) out += "...";
    return out + "'";
}

std::string readable(std::chrono::nanoseconds span) {
    using namespace std::chrono;
    using namespace std::chrono_literals;
    if (span < nanoseconds::zero()) return "-" + readable(span == nanoseconds::min() ? nanoseconds::max() : -span);
    struct unit {
        nanoseconds size;
        const char* name;
    };
    // The largest of which there are ten, or a whole number.
    for (const unit& each :
         {unit{1h, " h"}, unit{1min, " min"}, unit{1s, " s"}, unit{1ms, " ms"}, unit{1us, " us"}, unit{1ns, " ns"}})
        if (span >= 10 * each.size || (span >= each.size && span % each.size == 0ns))
            return std::to_string(span / each.size) + each.name;
    return "0 ns";
}

bool printable_ascii(std::string_view text) noexcept {
    // Eight bytes at a time. A byte's top bit gets set by one of: itself from 0x80 on, the sum at 0x7f, the difference below
    // 0x20. Only such bytes carry or borrow, so nothing else is suspected for their sake.
    std::uint64_t odd = 0;
    for (; text.size() >= 8; text.remove_prefix(8)) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, text.data(), 8);
        odd |= eight | (eight + 0x0101010101010101u) | (eight - 0x2020202020202020u);
    }
    if ((odd & 0x8080808080808080u) != 0) return false;
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool valid_utf8(std::string_view text) noexcept {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 4;
        if (more == 4 || i + more >= text.size() + (more == 0 ? 1 : 0)) return false;
        std::uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
        for (std::size_t k = 1; k <= more; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if (next >> 6 != 2) return false;
            point = point << 6 | (next & 0x3Fu);
        }
        constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
        i += more + 1;
    }
    return true;
}

bool has_control(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) return true;
        if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
    }
    return false;
}

}  // namespace mortise::inline v0::base
