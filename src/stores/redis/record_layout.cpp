#include "stores/redis/record_layout.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace mortise::inline v0::stores::redis {
namespace {

constexpr std::string_view format_call = "FORMAT('";
constexpr std::string_view with = "_with";

[[noreturn]] void unknown_in_script(std::string_view what) {
    throw std::logic_error("a script names what record_layout.hpp does not have: " + std::string(what));
}

const record_layout* layout_named(std::string_view name) {
    const auto found = std::ranges::find(layouts::all, name, [](const record_layout* one) { return one->name; });
    return found == std::end(layouts::all) ? nullptr : *found;
}

const record_layout& known_layout(std::string_view name) {
    const record_layout* const found = layout_named(name);
    if (found == nullptr) unknown_in_script(name);
    return *found;
}

// The codes of fields that follow each other: "armed,life".
std::string codes_of(const record_layout& layout, std::string_view names) {
    std::string codes;
    const packed_field* next = nullptr;
    while (true) {
        const std::size_t comma = std::min(names.find(','), names.size());
        const packed_field& one = layout.field(names.substr(0, comma));
        if (next != nullptr && next != &one)
            throw std::logic_error("does not follow the field before it: " + std::string(one.name));
        codes += one.code;
        next = &one + 1;
        if (comma == names.size()) return codes;
        names.remove_prefix(comma + 1);
    }
}

// One word of FORMAT('...').
std::string codes_of(std::string_view word) {
    if (const std::size_t dot = word.find('.'); dot != word.npos)
        return codes_of(known_layout(word.substr(0, dot)), word.substr(dot + 1));
    if (const std::size_t before = word.find('<'); before != word.npos)
        return "c" + std::to_string(known_layout(word.substr(0, before)).offset(word.substr(before + 1)));
    if (std::isupper(static_cast<unsigned char>(word.front())) == 0 || word.size() == 1 ||
        std::isdigit(static_cast<unsigned char>(word[1])) != 0)
        return std::string(word);  // a code of the library
    std::string codes;
    for (const packed_field& one : known_layout(word).fields) codes += one.code;
    return codes;
}

std::string format_of(std::string_view words) {
    std::string format = "'>";
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (end > 0) format += codes_of(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return format += "'";
}

std::string fields_of(const record_layout& layout, std::string_view prefix) {
    std::string names;
    for (const packed_field& one : layout.fields) ((names += names.empty() ? "" : ", ") += prefix) += one.name;
    return names;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
    return text;
}

// The fields, or what "name = expression, ..." says instead.
std::string fields_with(const record_layout& layout, std::string_view changes) {
    std::map<std::string_view, std::string_view> instead;
    for (std::size_t from = 0; from < changes.size();) {
        std::size_t end = from;
        for (int depth = 0; end < changes.size() && (depth > 0 || changes[end] != ','); ++end)
            depth += changes[end] == '(' ? 1 : changes[end] == ')' ? -1 : 0;
        const std::string_view change = changes.substr(from, end - from);
        const std::size_t equals = std::min(change.find('='), change.size());
        const std::string_view value = trimmed(change.substr(std::min(equals + 1, change.size())));
        if (value.empty()) unknown_in_script(change);
        instead[layout.field(trimmed(change.substr(0, equals))).name] = value;
        from = end + 1;
    }
    std::string list;
    for (const packed_field& one : layout.fields) {
        const auto it = instead.find(one.name);
        (list += list.empty() ? "" : ", ") += it == instead.end() ? one.name : it->second;
    }
    return list;
}

// What LAYOUT_aspect stands for.
std::string aspect_of(const record_layout& layout, std::string_view aspect) {
    if (aspect == "size") return std::to_string(layout.size());
    if (aspect.starts_with("at_")) return std::to_string(layout.offset(aspect.substr(3)) + 1);
    if (aspect.starts_with("to_")) {
        const std::string_view field = aspect.substr(3);
        return std::to_string(layout.offset(field) + layout.field(field).size());
    }
    unknown_in_script(std::string(layout.name) + "_" + std::string(aspect));
}

std::optional<std::string> constant_named(std::string_view name, const script_constants& constants) {
    if (name == "FORM") return "'" + std::string(constants.form) + "'";
    if (name == "NOTHING") return "'" + std::string(layouts::id.size(), ' ') + "'";
    if (name == "IN_HEAD") return std::to_string(constants.in_head);
    if (name == "LOOK") return std::to_string(constants.look_every);
    if (name == "REMEMBERED") return std::to_string(constants.remembered);
    return std::nullopt;
}

// What an identifier of a script stands for; itself, if it is the script's own.
std::string meaning_of(std::string_view word, const script_constants& constants) {
    constexpr std::string_view fields = "_fields";
    if (word.ends_with(fields)) {
        const std::string_view before = word.substr(0, word.size() - fields.size());
        const std::size_t last = before.find_last_of("_.");
        const std::size_t from = last == before.npos ? 0 : last + 1;
        return fields_of(known_layout(before.substr(from)), before.substr(0, from));
    }
    const std::size_t underscore = word.find('_');
    if (underscore != word.npos)
        if (const record_layout* const layout = layout_named(word.substr(0, underscore)))
            return aspect_of(*layout, word.substr(underscore + 1));
    return constant_named(word, constants).value_or(std::string(word));
}

bool in_a_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

std::string spliced(std::string_view text, const script_constants& constants) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        if (text.starts_with("--")) {  // a comment; it would only be sent along
            const std::size_t end = std::min(text.find('\n'), text.size());
            text.remove_prefix(end);
        } else if (text.starts_with(format_call)) {
            text.remove_prefix(format_call.size());
            const std::size_t end = text.find("')");
            if (end == text.npos) unknown_in_script(text.substr(0, 20));
            out += format_of(text.substr(0, end));
            text.remove_prefix(end + 2);
        } else if (in_a_word(text.front())) {
            const auto end = std::ranges::find_if_not(text, in_a_word);
            const auto length = static_cast<std::size_t>(end - text.begin());
            const std::string_view word = text.substr(0, length);
            text.remove_prefix(length);
            if (word.ends_with(with) && text.starts_with('{')) {
                const std::size_t closes = text.find('}');
                if (closes == text.npos) unknown_in_script(word);
                const record_layout& layout = known_layout(word.substr(0, word.size() - with.size()));
                out += spliced(fields_with(layout, text.substr(1, closes - 1)), constants);
                text.remove_prefix(closes + 1);
            } else {
                out += meaning_of(word, constants);
            }
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

}  // namespace mortise::inline v0::stores::redis
