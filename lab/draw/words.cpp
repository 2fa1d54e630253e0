#include "lab/draw/words.hpp"

#include "lab/draw/columns.hpp"

#include <utility>

namespace lab::words {
namespace {

// Sentences that begin with the actor.
bool has_subject(kind what) {
    switch (what) {
        case kind::command:
        case kind::lost:
        case kind::tell:
        case kind::worked:
        case kind::failed:
            return false;
        default:
            return true;
    }
}

std::string answer_of(const row& it, language in) {
    std::string line = it.answer.empty() ? "" : "→ " + it.answer.in(in);
    if (it.times == 1) return line;
    line += " (×" + std::to_string(it.times);
    if (elapsed(it.until) != elapsed(it.time))
        line += (in == language::chinese ? "，到 " : ", until ") + elapsed(it.until);
    return line + ")";
}

}  // namespace

std::string done(const row& it, language in) {
    const std::string answer = answer_of(it, in);
    return it.what.in(in) + (answer.empty() ? "" : " " + answer);
}

std::string subject_of(const layout& drawn, const row& it, language in) {
    if (it.lane == nobody) return {};
    return drawn.lanes[it.lane] + (has_subject(it.kind) ? " " : in == language::chinese ? "：" : ": ");
}

std::string said(const layout& drawn, const row& it, language in) {
    return subject_of(drawn, it, in) + done(it, in);
}

std::vector<std::string> lines_of(const row& it, const std::string& before, language in, std::size_t columns) {
    constexpr std::size_t most = 4;
    std::vector<std::string> lines = wrapped(before + done(it, in), columns);
    if (lines.size() <= most) return lines;
    lines = wrapped(before + it.what.in(in), columns, most - 1);
    for (std::string& each : wrapped(answer_of(it, in), columns, most - 2)) lines.push_back(std::move(each));
    return lines;
}

}  // namespace lab::words
