// Reading a command line: letters, long names, values, and where the command to be run begins. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace command {

struct option {
    char letter = 0;           // 0: it has none
    std::string_view name;     // without its dashes; empty: it has only a letter
    std::string_view value{};  // how the help calls it ("T", "FILE"); empty: it takes none
    std::string_view help{};

    // "-w" or "--lease": by which it is asked for, and by which messages call it.
    std::string shown() const { return name.empty() ? std::string{'-', letter} : "--" + std::string(name); }
};

// What stands on the line besides options.
struct words {
    std::size_t least = 0;
    std::size_t most = 0;
    bool then_command = false;  // the first further word, or what follows --, begins a command with options of its own
    std::string_view usage{};   // for messages: "NAME -- COMMAND..."
};

class arguments {
public:
    // `option` is what option::shown() says.
    bool has(std::string_view option) const { return values_.find(option) != values_.end(); }
    std::optional<std::string> value(std::string_view option) const;

    std::vector<std::string> words{};
    std::vector<std::string> command{};

private:
    friend arguments read(std::span<const option>, const struct words&, std::span<const std::string>);
    std::map<std::string, std::string, std::less<>> values_;
};

// `-w 2s`, `-w2s`, `-nv`, `--wait 2s`, `--wait=2s`. Options may stand before and after the words, up to `--` or the
// command. Where locks are taken, flock(1)'s names for our options are understood too: -e, --timeout, --nb. Throws
// failure(usage). Reading stops at --help, which asks for nothing else.
arguments read(std::span<const option> known, const words& expected, std::span<const std::string> given);

}  // namespace command
