#include "checker/report/report.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

namespace mortise::checker {
namespace {

std::string escaped(const std::string& text) {
    std::string made;
    for (const char each : text) {
        if (each == '<')
            made += "&lt;";
        else if (each == '&')
            made += "&amp;";
        else if (each == '"')
            made += "&quot;";
        else
            made += each;
    }
    return made;
}

constexpr const char* colours[] = {"#4878a8", "#c0713a", "#5a9367", "#8566a8", "#b0566f", "#7a7a52"};

struct view {
    std::int64_t from = 0;
    std::int64_t to = 1;

    double x(std::int64_t at) const {
        return 90 + 1100 * static_cast<double>(std::clamp(at, from, to) - from) / static_cast<double>(to - from);
    }
    bool shows(std::int64_t begin, std::int64_t end) const { return end >= from && begin <= to; }
};

// Around the first violation; else the first ten seconds after the first fault.
view chosen(const campaign_result& of) {
    for (const judgement& one : of.judgements)
        if (!one.violations.empty()) {
            const violation& first = one.violations.front();
            const std::int64_t last = of.all.records.empty() ? first.to : of.all.records.back().at;
            const std::int64_t to = std::max(first.from, std::min(first.to, last));  // what never ended has no end
            const std::int64_t more = std::max<std::int64_t>((to - first.from) / 2, 50'000'000);
            return {first.from - more, to + more};
        }
    for (const record& one : of.all.records)
        if (one.what == act::fault) return {one.at - 500'000'000, one.at + 9'500'000'000};
    const std::int64_t first = of.all.records.empty() ? 0 : of.all.records.front().at;
    return {first, first + 10'000'000'000};
}

class timeline {
public:
    timeline(std::ostream& to, const campaign_result& of) : to_(to), of_(of), shown_(chosen(of)) {
        for (const hold_span& one : holds_of(of.all, of.operations))
            if (shown_.shows(one.grant.invoked, end_of(one))) {
                holds_.push_back(one);
                lanes_.try_emplace(one.grant.pid, 0);
            }
        int row = 0;
        for (auto& [pid, lane] : lanes_) lane = 44 + 26 * row++;
        height_ = 60 + 26 * row;
    }

    void draw() {
        to_ << "<svg viewBox=\"0 0 1200 " << height_ << "\" role=\"img\" aria-label=\"who held what, and when\">\n";
        for (const auto& [pid, y] : lanes_)
            to_ << "<text x=\"4\" y=\"" << y + 13 << "\">" << pid << "</text><line x1=\"90\" x2=\"1190\" y1=\"" << y + 9
                << "\" y2=\"" << y + 9 << "\" stroke=\"#ddd\"/>\n";
        draw_faults();
        for (const hold_span& one : holds_) draw(one);
        draw_violation();
        const std::int64_t first = of_.all.records.empty() ? shown_.from : of_.all.records.front().at;
        const std::int64_t last = of_.all.records.empty() ? shown_.to : of_.all.records.back().at;
        const auto seconds = [first](std::int64_t at) { return static_cast<double>((at - first) / 1'000'000) / 1000; };
        to_ << "<text x=\"90\" y=\"" << height_ - 4 << "\">from " << seconds(shown_.from) << " s to "
            << seconds(shown_.to) << " s, of " << seconds(last) << " s in all</text>\n</svg>\n<p>";
        for (std::size_t i = 0; i < of_.lock_names.size(); ++i)
            to_ << "<span style=\"color:" << colours[i % std::size(colours)] << "\">&#9632;</span> "
                << escaped(of_.lock_names[i]) << " ";
        to_ << "</p>\n";
    }

private:
    static std::int64_t end_of(const hold_span& one) { return std::max(one.valid_to, one.grant.ended); }

    void draw(const hold_span& one) {
        const int y = lanes_[one.grant.pid];
        const double from = shown_.x(one.grant.ended);
        const double to = std::max(shown_.x(end_of(one)), from + 1);
        const std::string lock = one.grant.lock < of_.lock_names.size() ? of_.lock_names[one.grant.lock] : "?";
        to_ << "<rect x=\"" << from << "\" y=\"" << y << "\" width=\"" << to - from << "\" height=\"18\" fill=\""
            << colours[one.grant.lock % std::size(colours)] << "\" fill-opacity=\"0.8\""
            << (one.end == phase::lost ? " stroke=\"#c00\" stroke-width=\"2\"" : "") << "><title>" << escaped(lock)
            << ", " << escaped(named(one.grant)) << ", " << to_string(one.end) << "</title></rect>\n";
    }

    void draw_faults() {
        std::map<std::uint64_t, std::int64_t> open;
        for (const record& one : of_.all.records) {
            if (one.what == act::fault && one.is == phase::invoke) open[one.op] = one.at;
            if (one.what != act::heal || one.is == phase::invoke || !open.contains(one.op)) continue;
            const std::int64_t begin = open[one.op];
            if (!shown_.shows(begin, one.at)) continue;
            const std::string name =
                one.value >= 1 && one.value <= of_.trouble_names.size() ? of_.trouble_names[one.value - 1] : "";
            to_ << "<rect x=\"" << shown_.x(begin) << "\" y=\"20\" width=\""
                << std::max(1.0, shown_.x(one.at) - shown_.x(begin)) << "\" height=\"" << height_ - 40
                << "\" fill=\"#f4d35e\" fill-opacity=\"0.35\"><title>" << escaped(name) << "</title></rect><text x=\""
                << shown_.x(begin) << "\" y=\"" << label_at(shown_.x(begin)) << "\">" << escaped(name) << "</text>\n";
        }
    }

    void draw_violation() {
        for (const judgement& one : of_.judgements) {
            if (one.violations.empty()) continue;
            const violation& first = one.violations.front();
            const double from = shown_.x(first.from);
            to_ << "<rect x=\"" << from - 2 << "\" y=\"18\" width=\"" << std::max(4.0, shown_.x(first.to) - from + 4)
                << "\" height=\"" << height_ - 36 << "\" fill=\"none\" stroke=\"#c00\" stroke-dasharray=\"4 3\"><title>"
                << escaped(first.what) << "</title></rect>\n";
            return;
        }
    }

    // Names of faults that begin together stand below each other.
    int label_at(double x) {
        const bool close = x - label_x_ < 160;
        label_x_ = x;
        return close && label_y_ == 14 ? label_y_ = 34 : label_y_ = 14;
    }

    std::ostream& to_;
    const campaign_result& of_;
    double label_x_ = -1000;
    int label_y_ = 14;
    const view shown_;
    std::vector<hold_span> holds_{};
    std::map<std::uint32_t, int> lanes_{};
    int height_ = 0;
};

void tables(std::ostream& to, const campaign_result& of) {
    to << "<h2>Checkers</h2><table><tr><th>checker<th>checked<th>violations<th>excused</tr>\n";
    for (const judgement& one : of.judgements)
        to << "<tr><td>" << escaped(one.checker) << "<td>" << one.checked << "<td>" << one.count << "<td>"
           << one.excused << "</tr>\n";
    to << "</table>\n<h2>Faults</h2><table><tr><th>fault<th>struck<th>bit</tr>\n";
    for (const auto& [name, tally] : of.troubles)
        to << "<tr><td>" << escaped(name) << "<td>" << tally.struck << "<td>" << tally.bit << "</tr>\n";
    to << "</table>\n";
}

void violations(std::ostream& to, const campaign_result& of) {
    const bool any = !of.not_judged.empty() || !of.reasons.empty() ||
                     std::any_of(of.judgements.begin(), of.judgements.end(),
                                 [](const judgement& one) { return !one.violations.empty(); });
    if (!any) return;
    to << "<ul>\n";
    for (const judgement& one : of.judgements)
        for (const violation& each : one.violations)
            to << "<li>" << escaped(one.checker) << ", lock "
               << escaped(each.lock < of.lock_names.size() ? of.lock_names[each.lock] : "?") << ": "
               << escaped(each.what) << "</li>\n";
    for (const std::string& each : of.not_judged) to << "<li>not judged: " << escaped(each) << "</li>\n";
    for (const std::string& each : of.reasons) to << "<li>" << escaped(each) << "</li>\n";
    to << "</ul>\n";
}

const char* meaning(outcome is) {
    switch (is) {
        case outcome::sound:
            return "Sound: faults bit, and no checker found anything that the store does not promise to withstand.";
        case outcome::violated:
            return "Violated: what a checker found below should not happen on this store. The seed repeats the faults, "
                   "not the run: threads and servers have a will of their own.";
        case outcome::is_void:
            break;
    }
    return "Void: the run says nothing, for the reasons below. Mend them and run it again.";
}

constexpr const char* words =
    "<h2>Words</h2>\n<dl>\n"
    "<dt>bit<dd>A fault struck, and something went wrong because of it: a call failed, a hold was lost, a clock was "
    "seen to jump. A fault that only struck proves nothing.\n"
    "<dt>lost below its holder<dd>The lock ended before its holder let it go, and the holder was told. That is no "
    "violation.\n"
    "<dt>outcome unknown<dd>No answer came, and the call may have had its effect or not; checkers allow for both.\n"
    "<dt>updates lost<dd>A write that was made from an old value. With seals it is refused; without (--unfenced) it "
    "happens.\n"
    "<dt>excused<dd>The store lost what it had acknowledged, or gave away a turn that nobody answered, as its page of "
    "guarantees says it may, and the checker makes no more of it.\n"
    "</dl>\n";

}  // namespace

void print_page(std::ostream& to, const campaign_result& of) {
    to << "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>mortise-check: " << to_string(of.is)
       << "</title>\n<style>body{font:15px/1.5 sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem}"
          "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem;text-align:left}"
          "svg{width:100%;border:1px solid #ccc}svg text{font:11px sans-serif}</style>\n<h1>"
       << escaped(of.store) << ": " << to_string(of.is) << "</h1>\n<p>Seed " << of.seed << ". " << of.operations.size()
       << " operations of " << of.processes << " processes, " << of.grants << " grants, " << of.lost
       << " of them lost below their holders, " << of.unknown << " outcomes unknown. " << of.writes << " writes, "
       << of.lost_updates << " updates lost. " << of.bites() << " faults bit.</p>\n";
    if (!of.how.empty()) to << "<p><code>" << escaped(of.how) << "</code></p>\n";
    to << "<p>" << meaning(of.is) << "</p>\n";
    violations(to, of);
    to << "<h2>Timeline</h2>\n<p>An excerpt: around the first violation, framed in red, or ten seconds of a sound run. "
          "A row is a process, a bar a hold while it was valid, with a red edge if it was lost; yellow is a fault. "
          "Point at one for its name.</p>\n";
    timeline{to, of}.draw();
    tables(to, of);
    to << words;
    to << "</html>\n";
}

}  // namespace mortise::checker
