#include "lab/draw/markup.hpp"

namespace lab {
namespace {

std::string entity(char c) {
    switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        default:
            return std::string(1, c);
    }
}

std::string in_script(char c) {
    switch (c) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '<':
            return "\\u003c";
        case '>':
            return "\\u003e";
        case '&':
            return "\\u0026";
        default:
            return std::string(1, c);
    }
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string made;
    for (const char c : text) made += entity(c);
    return made;
}

std::string as_json(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) made += in_script(c);
    return made + "\"";
}

}  // namespace lab
