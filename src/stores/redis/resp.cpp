#include "stores/redis/resp.hpp"

#include "base/immortal.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace mortise::inline v0::stores::redis {
namespace {

const base::immortal<reply> no_reply;

}  // namespace

const reply& reply::at(std::string_view key) const noexcept {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (items[i].text == key) return items[i + 1];
    return no_reply.value;
}

std::span<char> reader::space() {
    constexpr std::size_t least = 4 * 1024;
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (buffer_.size() - end_ < least && begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (buffer_.size() - end_ < least) buffer_.resize(2 * buffer_.size());
    return {buffer_.data() + end_, buffer_.size() - end_};
}

// Parses one value from the front of the buffer.
struct reader::cursor {
    const char* at;
    const char* const end;
    std::int64_t elements = 0;

    std::optional<std::string_view> line(parse_status& why) {
        constexpr std::ptrdiff_t longest = 64 * 1024;
        const auto* stop = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) {
            why = end - at > longest ? parse_status::broken : parse_status::more;
            return std::nullopt;
        }
        if (stop == at || stop[-1] != '\r' || stop - at > longest) {
            why = parse_status::broken;
            return std::nullopt;
        }
        const std::string_view found{at, static_cast<std::size_t>(stop - 1 - at)};
        at = stop + 1;
        return found;
    }

    static bool number(std::string_view text, std::int64_t& out) {
        const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
        return failed == std::errc{} && stop == text.data() + text.size() && !text.empty();
    }

    parse_status value(reply& out, std::size_t depth) {
        if (at == end) return parse_status::more;
        if (++elements > most_elements || depth > deepest) return parse_status::broken;
        const char type = *at++;
        if (std::string_view{"+-:$*_#,(!=%~>|"}.find(type) == std::string_view::npos) return parse_status::broken;
        parse_status why = parse_status::value;
        const auto head = line(why);
        if (!head) return why;
        out = {};
        switch (type) {
            case '+':
            case ',':
            case '(':
                out.is = reply::kind::text;
                out.text = *head;
                return parse_status::value;
            case '-':
                out.is = reply::kind::error;
                out.text = *head;
                return parse_status::value;
            case ':':
                out.is = reply::kind::integer;
                return number(*head, out.number) ? parse_status::value : parse_status::broken;
            case '_':
                return head->empty() ? parse_status::value : parse_status::broken;
            case '#':
                out.is = reply::kind::integer;
                out.number = *head == "t" ? 1 : 0;
                return *head == "t" || *head == "f" ? parse_status::value : parse_status::broken;
            case '$':
            case '=':
            case '!':
                return text(*head, type, out);
            case '*':
            case '~':
            case '>':
            case '%':
            case '|':
                return list(*head, type, out, depth);
            default:
                return parse_status::broken;
        }
    }

    parse_status text(std::string_view head, char type, reply& out) {
        std::int64_t length = 0;
        if (!number(head, length) || length < -1 || length > longest_text) return parse_status::broken;
        if (length < 0) return parse_status::value;
        if (end - at < length + 2) return parse_status::more;
        if (at[length] != '\r' || at[length + 1] != '\n') return parse_status::broken;
        out.is = type == '!' ? reply::kind::error : reply::kind::text;
        out.text = {at, static_cast<std::size_t>(length)};
        at += length + 2;
        return parse_status::value;
    }

    parse_status list(std::string_view head, char type, reply& out, std::size_t depth) {
        std::int64_t count = 0;
        if (!number(head, count) || count < -1 || count > most_elements) return parse_status::broken;
        if (count < 0) return parse_status::value;
        if (type == '%' || type == '|') count *= 2;
        out.is = type == '>' ? reply::kind::push : reply::kind::list;
        for (std::int64_t i = 0; i < count; ++i)  // grows as they arrive: a count alone allocates nothing
            if (const parse_status parsed = value(out.items.emplace_back(), depth + 1); parsed != parse_status::value)
                return parsed;
        return type == '|' ? value(out, depth + 1) : parse_status::value;  // attributes precede what they are about
    }
};

auto reader::next(reply& out) -> parse_status {
    cursor from{buffer_.data() + begin_, buffer_.data() + end_};
    const parse_status parsed = from.value(out, 0);
    if (parsed == parse_status::value) begin_ = static_cast<std::size_t>(from.at - buffer_.data());
    return parsed;
}

namespace {

// A type, a number and the end of the line.
struct head {
    char bytes[24];
    std::size_t length;

    head(char type, std::size_t n) {
        bytes[0] = type;
        char* at = std::to_chars(bytes + 1, bytes + sizeof bytes - 2, n).ptr;
        *at++ = '\r';
        *at++ = '\n';
        length = static_cast<std::size_t>(at - bytes);
    }
};

}  // namespace

command::command(std::string& out, std::size_t arguments) : out_(out) {
    const head count{'*', arguments};
    out.append(count.bytes, count.length);
}

command& command::operator<<(std::string_view argument) {
    const head size{'$', argument.size()};
    const std::size_t before = out_.size();
    out_.resize(before + size.length + argument.size() + 2);  // once: a command has many arguments
    char* at = out_.data() + before;
    at = std::copy_n(size.bytes, size.length, at);
    at = std::copy_n(argument.data(), argument.size(), at);
    at[0] = '\r';
    at[1] = '\n';
    return *this;
}

command& command::operator<<(std::int64_t argument) {
    char digits[24];
    const auto [stop, ignored] = std::to_chars(digits, digits + sizeof digits, argument);
    return *this << std::string_view(digits, static_cast<std::size_t>(stop - digits));
}

void append(std::string& out, std::initializer_list<std::string_view> arguments) {
    command all{out, arguments.size()};
    for (const std::string_view one : arguments) all << one;
}

}  // namespace mortise::inline v0::stores::redis
