#include "tree/classes.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string_view>

namespace tree {
namespace {

struct token {
    std::string_view text;
    int line = 0;
};

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Words, numbers, "::", "->" and single signs. Literals become "", comments and lines of the preprocessor nothing.
std::vector<token> tokens_of(std::string_view text) {
    std::vector<token> found;
    int line = 1;
    std::size_t at = 0;
    auto skip_to = [&](std::size_t end) {
        end = std::min(end, text.size());
        for (; at < end; ++at) line += text[at] == '\n';
    };
    bool line_begins = true;
    while (at < text.size()) {
        const char c = text[at];
        const std::string_view rest = text.substr(at);
        if (c == '\n') {
            skip_to(at + 1);
            line_begins = true;
        } else if (c == ' ' || c == '\t') {
            ++at;
        } else if (rest.starts_with("//")) {
            skip_to(text.find('\n', at));
        } else if (rest.starts_with("/*")) {
            skip_to(text.find("*/", at) + 2);
        } else if (c == '#' && line_begins) {
            std::size_t end = text.find('\n', at);
            while (end != text.npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
            skip_to(end);
        } else {
            line_begins = false;
            if (rest.starts_with("R\"")) {
                const std::string close = ")" + std::string(rest.substr(2, rest.find('(') - 2)) + "\"";
                found.push_back({"\"\"", line});
                skip_to(text.find(close, at) + close.size());
            } else if (c == '"' || c == '\'') {
                std::size_t end = at + 1;
                while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
                found.push_back({"\"\"", line});
                skip_to(end + 1);
            } else if (is_word(c)) {
                std::size_t end = at;
                const bool number = std::isdigit(static_cast<unsigned char>(c));
                while (end < text.size() && (is_word(text[end]) || (number && text[end] == '\''))) ++end;
                found.push_back({text.substr(at, end - at), line});
                at = end;
            } else {
                const std::size_t length = rest.starts_with("::") || rest.starts_with("->") ? 2 : 1;
                found.push_back({text.substr(at, length), line});
                at += length;
            }
        }
    }
    return found;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

// A function's definition outside of its class: the names before its own, "engine::shard" of engine::shard::insert.
struct definition {
    std::string file;
    std::string of;
};

class reader {
public:
    reader(const source& from, std::vector<class_found>& classes, std::vector<definition>& definitions)
        : file_(from.path), tokens_(tokens_of(from.text)), classes_(classes), definitions_(definitions) {
        for (std::size_t begin = 0; begin < from.text.size();) {
            const std::size_t end = std::min(from.text.find('\n', begin), from.text.size());
            lines_.push_back(std::string_view{from.text}.substr(begin, end - begin));
            begin = end + 1;
        }
        while (more()) {
            read_scope(outside);
            ++at_;  // a stray brace
        }
    }

private:
    static constexpr std::size_t outside = static_cast<std::size_t>(-1);

    bool more() const { return at_ < tokens_.size(); }
    std::string_view now(std::size_t ahead = 0) const {
        return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : std::string_view{};
    }
    bool after_word() const {
        return at_ > 0 && is_word(tokens_[at_ - 1].text[0]) && !std::isdigit(tokens_[at_ - 1].text[0]);
    }

    // Behind the bracket that closes the one we are at.
    void skip_brackets() {
        int depth = 0;
        do {
            if (one_of(now(), {"(", "[", "{"})) ++depth;
            if (one_of(now(), {")", "]", "}"})) --depth;
            ++at_;
        } while (more() && depth > 0);
    }
    // The same for the arguments of a template; past the sign alone if it is not one.
    void skip_angles() {
        const std::size_t begin = at_;
        int depth = 0;
        while (more()) {
            if (one_of(now(), {"(", "[", "{"})) {
                skip_brackets();
                continue;
            }
            if (one_of(now(), {";", ")", "}", "]"})) break;
            depth += now() == "<" ? 1 : now() == ">" ? -1 : 0;
            ++at_;
            if (depth == 0) return;
        }
        at_ = begin + 1;
    }
    void skip_past_semicolon() {
        while (more() && now() != ";" && now() != "}") {
            if (one_of(now(), {"(", "[", "{"})) {
                skip_brackets();
            } else {
                ++at_;
            }
        }
        if (now() == ";") ++at_;
    }

    void read_scope(std::size_t of) {
        while (more() && now() != "}") read_statement(of);
    }
    void read_braces(std::size_t of) {
        ++at_;
        read_scope(of);
        ++at_;
    }

    void read_statement(std::size_t of) {
        if (now() == ";") {
            ++at_;
            return;
        }
        if (one_of(now(), {"public", "private", "protected"}) && now(1) == ":") {
            at_ += 2;
            return;
        }
        const std::size_t begin = at_;
        while (now() == "template" || (now() == "[" && now(1) == "[")) {
            if (now() == "[") {
                skip_brackets();
            } else if (++at_; now() == "<") {
                skip_angles();
            }
        }
        if (now() == "inline" && now(1) == "namespace") ++at_;
        if (now() == "namespace" || (now() == "extern" && now(1) == "\"\"")) {
            while (more() && !one_of(now(), {"{", ";", "="})) ++at_;
            if (now() == "{") {
                read_braces(outside);
            } else {
                skip_past_semicolon();
            }
        } else if (one_of(now(), {"class", "struct", "union"}) && read_class(of, begin)) {
        } else if (one_of(now(), {"using", "typedef", "static_assert", "enum", "concept"})) {
            skip_past_semicolon();
        } else {
            const bool counts = of != outside && now() != "friend";
            read_declaration(counts ? of : outside);
        }
    }

    // False, and nothing read, if this is only the type of something.
    bool read_class(std::size_t of, std::size_t begin) {
        const std::size_t key = at_++;
        std::string name;
        bool named = false;
        while (more() && !one_of(now(), {"{", ";", "(", "="})) {
            if (now() == "alignas" || now() == "[") {
                at_ += now() == "alignas";
                skip_brackets();
            } else if (now() == "<" && after_word()) {
                skip_angles();
            } else {
                if (now() == ":" || now() == "final") named = true;
                if (!named && (now() == "::" || is_word(now()[0]))) name += now();
                ++at_;
            }
        }
        if (now() == "{") {
            if (of != outside) name = classes_[of].name + "::" + name;
            const int line = tokens_[begin].line;
            classes_.push_back({.name = name, .file = file_, .line = line, .excuse = excuse_before(line)});
            read_braces(classes_.size() - 1);
            skip_past_semicolon();
            return true;
        }
        if (now() == ";") {
            ++at_;
            return true;
        }
        at_ = key;
        return false;
    }

    void read_declaration(std::size_t of) {
        while (more()) {
            if (one_of(now(), {"alignas", "decltype", "explicit", "requires", "noexcept", "__attribute__"}) &&
                now(1) == "(") {
                ++at_;
                skip_brackets();
            } else if (now() == "[") {
                skip_brackets();
            } else if (now() == "<" && after_word()) {
                skip_angles();
            } else if (now() == "operator") {
                const std::size_t name = at_;
                at_ += now(1) == "(" ? 3 : 1;
                while (more() && now() != "(") ++at_;
                return read_function(of, name);
            } else if (now() == "(") {
                if (now(1) == "*") return skip_past_semicolon();  // a pointer to a function
                return read_function(of, at_ - 1);
            } else if (now() == ";" || now() == "=" || now() == "{") {
                return skip_past_semicolon();
            } else if (now() == "}") {
                return;
            } else {
                ++at_;
            }
        }
    }

    // From its parameters on.
    void read_function(std::size_t of, std::size_t name) {
        const std::string before = names_before(name);
        bool counts = true;
        skip_brackets();
        while (more()) {
            if (now() == ";" || now() == "}") {
                at_ += now() == ";";
                break;
            }
            if (one_of(now(), {"class", "struct", "namespace"})) break;  // it was a macro
            if (now() == ":") {
                read_initialisers();
            } else if (now() == "{") {
                skip_brackets();
                if (!before.empty() && of == outside) definitions_.push_back({file_, before});
                break;
            } else if (one_of(now(), {"(", "["})) {
                skip_brackets();
            } else if (now() == "<" && after_word()) {
                skip_angles();
            } else {
                if (now() == "=" && one_of(now(1), {"default", "delete"})) counts = false;
                ++at_;
            }
        }
        if (of != outside && counts) ++classes_[of].functions;
    }

    // Of a constructor: up to its body.
    void read_initialisers() {
        do {
            ++at_;
            while (more() && !one_of(now(), {"(", "{", ";"})) {
                if (now() == "<" && after_word()) {
                    skip_angles();
                } else {
                    ++at_;
                }
            }
            if (now() == ";") return;
            skip_brackets();
            while (now() == ".") ++at_;
        } while (now() == ",");
    }

    // "a::b" in front of a::b<x>::name.
    std::string names_before(std::size_t name) const {
        std::string found;
        std::size_t at = name;
        if (at > 0 && tokens_[at - 1].text == "~") --at;
        while (at >= 2 && tokens_[at - 1].text == "::") {
            at -= 2;
            for (int depth = 0; at > 0; --at) {
                depth += tokens_[at].text == ">" ? 1 : tokens_[at].text == "<" ? -1 : 0;
                if (depth == 0 && tokens_[at].text != "<") break;
            }
            if (!is_word(tokens_[at].text[0])) break;
            found = std::string(tokens_[at].text) + (found.empty() ? "" : "::" + found);
        }
        return found;
    }

    std::string excuse_before(int line) const {
        std::string comment;
        for (auto at = static_cast<std::size_t>(line) - 1; at > 0; --at) {
            std::string_view above = lines_[at - 1];
            above.remove_prefix(std::min(above.find_first_not_of(" \t"), above.size()));
            if (!above.starts_with("//")) break;
            comment = std::string(above.substr(2)) + comment;
        }
        constexpr std::string_view form = "One class because ";
        const std::size_t begin = comment.find(form);
        return begin == comment.npos ? "" : comment.substr(begin + form.size());
    }

    std::string file_;
    std::vector<token> tokens_;
    std::vector<std::string_view> lines_;
    std::vector<class_found>& classes_;
    std::vector<definition>& definitions_;
    std::size_t at_ = 0;
};

std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

// A class of the same file, else one in a header of the same folder. Names before it may be those of namespaces.
class_found* class_of(std::vector<class_found>& classes, const definition& defined) {
    for (std::string of = defined.of;; of = of.substr(of.find("::") + 2)) {
        class_found* in_header = nullptr;
        for (class_found& each : classes) {
            if (each.name != of) continue;
            if (each.file == defined.file) return &each;
            if (each.file.ends_with(".hpp") && folder_of(each.file) == folder_of(defined.file)) in_header = &each;
        }
        if (in_header) return in_header;
        if (of.find("::") == of.npos) return nullptr;
    }
}

}  // namespace

std::vector<class_found> classes_of(const std::vector<source>& sources) {
    std::vector<class_found> classes;
    std::vector<definition> definitions;
    for (const source& each : sources) reader{each, classes, definitions};
    for (const definition& each : definitions) {
        class_found* found = class_of(classes, each);
        if (found && each.file.ends_with(".cpp")) found->defined_in.insert(each.file);
    }
    return classes;
}

}  // namespace tree
