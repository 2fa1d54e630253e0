#include "lab/draw/server_state.hpp"

#include "lab/draw/columns.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace lab {
namespace {

const std::string no_holder = "–";

struct request {
    std::string verb, name, answer;
};

// "claim ticket → granted, token 7", as traced_store says it. Commands of Redis are written in capitals.
std::optional<request> one_of_ours(const std::string& said) {
    constexpr std::string_view arrow = " → ";
    const std::size_t space = said.find(' ');
    const std::size_t answer = said.find(arrow);
    if (space >= answer || answer == said.npos) return {};
    request made{said.substr(0, space), said.substr(space + 1, answer - space - 1), said.substr(answer + arrow.size())};
    const bool ours = made.verb == "claim" || made.verb == "push" || made.verb == "renew" || made.verb == "release";
    return ours ? std::optional(made) : std::nullopt;
}

// "lock:ticket = dewu, 10 s" ends with the time that is left.
text with_time_left(const std::string& line) {
    const std::size_t comma = line.rfind(", ");
    const bool timed = comma != line.npos && line.size() > comma + 4 && line.ends_with(" s") &&
                       line.find_first_not_of("0123456789", comma + 2) == line.size() - 2;
    if (!timed) return line;
    const std::string key = line.substr(0, comma);
    const std::string left = line.substr(comma + 2);
    return {key + ", expires in " + left, key + "，" + left + " 后过期"};
}

// "locks = (no rows)"
text with_rows(const std::string& line) {
    if (!line.ends_with(no_rows)) return with_time_left(line);
    const std::string table = line.substr(0, line.size() - no_rows.size() - 3);
    return {table + ": no rows", table + "：没有行"};
}

// A value of no characters can be seen, too.
std::string with_quotes(std::string line) {
    const std::size_t equals = line.find(" = ");
    if (equals != line.npos && (equals + 3 == line.size() || line[equals + 3] == ',')) line.insert(equals + 3, "\"\"");
    return line;
}

// Of several servers, the one that a command was for. Nothing: there is one.
text server_of(const text& command) {
    for (std::size_t number = 1; number <= 9; ++number)
        if (const text called = server_called(number); command.en.starts_with(called.en)) return called;
    return {};
}

std::vector<text> keys(const event& next, const token_ranks& tokens) {
    const std::string& state = next.state;
    const text server = server_of(next.what);
    std::vector<text> lines;
    for (std::size_t from = 0; from < state.size();) {
        const std::size_t ends = std::min(state.find("; ", from), state.size());
        const text line = with_rows(with_quotes(tokens.ranked(harmless(state.substr(from, ends - from)))));
        lines.push_back({server.en + line.en, server.zh + line.zh});
        from = ends + 2;
    }
    return lines;
}

}  // namespace

server_state::server_state(const trace& all) {
    keys_are_shown_ = std::any_of(all.begin(), all.end(), [](const event& each) { return !each.state.empty(); });
}

void server_state::heard(const event& next) {
    if (next.kind == kind::pass)
        for (auto& [name, known] : locks_) known.holder.clear();
    const auto said = next.kind == kind::command ? one_of_ours(next.what.en) : std::nullopt;
    if (!said) return;
    known_lock& known = locks_[said->name];
    const bool granted = said->answer.starts_with("granted");
    if (granted || said->answer == "renewed") {
        known.holder = next.actor;
        std::erase(known.waiting, next.actor);
    }
    if (granted) known.granted = said->answer;
    if (said->answer == "waits in line" && std::ranges::find(known.waiting, next.actor) == known.waiting.end())
        known.waiting.push_back(next.actor);
    // The next in line has it by now, and hears of it soon.
    if (said->answer == "released") known.holder = known.waiting.empty() ? no_holder : "";
}

std::vector<text> server_state::locks(const token_ranks& tokens) const {
    std::vector<text> lines;
    for (const auto& [name, known] : locks_) {
        if (!known.holder.empty()) lines.push_back(holder_of(harmless(name), known, tokens));
        std::string line;
        for (const std::string& each : known.waiting) line += (line.empty() ? "" : ", ") + harmless(each);
        if (!line.empty()) lines.push_back({"in line: " + line, "排队：" + line});
    }
    return lines;
}

text server_state::holder_of(const std::string& name, const known_lock& known, const token_ranks& tokens) {
    if (known.holder == no_holder) return {"lock " + name + ": free", "锁 " + name + "：空闲"};
    const std::string holder = harmless(known.holder);
    text line{"lock " + name + ": " + holder, "锁 " + name + "：" + holder};
    constexpr std::string_view before = "token ";
    if (const std::size_t number = known.granted.find(before); number != known.granted.npos) {
        const std::string rank = tokens.ranked(harmless(known.granted.substr(number)));
        line.en += ", " + rank;
        line.zh += "，令牌 " + rank.substr(before.size());
    }
    return line;
}

std::vector<text> server_state::after(const event& next, const token_ranks& tokens) {
    heard(next);
    if (next.kind != kind::command) return {};
    std::vector<text> lines = locks(tokens);
    const std::vector<text> shown = keys(next, tokens);
    lines.insert(lines.end(), shown.begin(), shown.end());
    const bool told = keys_are_shown_ && !one_of_ours(next.what.en) && !next.what.en.ends_with("no answer");
    if (lines.empty() && told) lines.push_back({"no key", "没有键"});
    return lines;
}

}  // namespace lab
