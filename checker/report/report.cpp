#include "checker/report/report.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>

namespace mortise::checker {
namespace {

std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char each : text) {
        if (each == '"' || each == '\\') made += '\\';
        made += static_cast<unsigned char>(each) < 0x20 ? ' ' : each;
    }
    return made + '"';
}

std::string seconds_into(const campaign_result& of, std::int64_t at) {
    const std::int64_t first = of.all.records.empty() ? at : of.all.records.front().at;
    const std::int64_t ms = std::max<std::int64_t>(at - first, 0) / 1'000'000;
    std::string digits = std::to_string(ms % 1000);
    digits.insert(0, 3 - digits.size(), '0');
    return std::to_string(ms / 1000) + "." + digits + " s";
}

// What processes did to the lock at the time of a violation.
void print_timeline(std::ostream& to, const campaign_result& of, const violation& one) {
    int lines = 0;
    for (const record& each : of.all.records) {
        const bool near = each.at >= one.from - 5'000'000 && each.at <= one.to + 5'000'000;
        if (!near || (each.lock != one.lock && each.what != act::fault && each.what != act::heal)) continue;
        if (each.what == act::truth || each.what == act::holder) continue;
        if (++lines > 16) break;
        to << "      " << seconds_into(of, each.at) << "  process " << each.pid << "  " << to_string(each.what) << " "
           << to_string(each.is);
        if (each.token != 0) to << "  token " << each.token;
        to << "\n";
    }
}

void print_list(std::ostream& to, std::string_view name, const std::vector<std::string>& all) {
    to << ",\"" << name << "\":[";
    std::string_view between;
    for (const std::string& one : all) {
        to << between << quoted(one);
        between = ",";
    }
    to << "]";
}

}  // namespace

std::string_view to_string(outcome is) noexcept {
    switch (is) {
        case outcome::sound:
            return "sound";
        case outcome::violated:
            return "violated";
        case outcome::is_void:
            return "void";
    }
    return "?";
}

void print(std::ostream& to, const campaign_result& of) {
    to << "\n" << of.store << ", seed " << of.seed << "\n\n  faults that bit\n";
    for (const auto& [name, tally] : of.troubles)
        to << "    " << std::left << std::setw(34) << name << std::right << std::setw(6) << tally.bit << " of "
           << tally.struck << "\n";
    to << "\n  " << of.operations.size() << " operations of " << of.processes << " processes: " << of.grants
       << " grants, " << of.lost << " of them lost below their holders; " << of.unknown << " outcomes unknown; "
       << of.writes << " writes, " << of.lost_updates << " updates lost\n\n";
    for (const judgement& one : of.judgements) {
        to << "  " << std::left << std::setw(42) << one.checker << std::right << std::setw(9) << one.checked
           << " checked  ";
        if (!one.sound())
            to << one.count << (one.count == 1 ? " VIOLATION" : " VIOLATIONS");
        else
            to << (one.checked == 0 ? "nothing to check" : "sound");
        if (one.excused != 0) to << ", " << one.excused << " excused";
        to << "\n";
        for (std::size_t i = 0; i < one.violations.size() && i < 3; ++i) {
            const violation& each = one.violations[i];
            const std::string lock = each.lock < of.lock_names.size() ? of.lock_names[each.lock] : "?";
            to << "    " << seconds_into(of, each.from) << ", " << lock << ": " << each.what << "\n";
            print_timeline(to, of, each);
        }
    }
    for (const std::string& each : of.not_judged) to << "  not judged: " << each << "\n";
    for (const std::string& each : of.reasons) to << "\n  " << each;
    to << "\n  verdict: " << to_string(of.is) << "\n";
}

void print_json(std::ostream& to, const campaign_result& of) {
    to << "{\"verdict\":" << quoted(std::string(to_string(of.is))) << ",\"store\":" << quoted(of.store)
       << ",\"seed\":" << of.seed << ",\"operations\":" << of.operations.size() << ",\"grants\":" << of.grants
       << ",\"lost\":" << of.lost << ",\"unknown\":" << of.unknown << ",\"writes\":" << of.writes
       << ",\"lost_updates\":" << of.lost_updates << ",\"processes\":" << of.processes
       << ",\"cpu_seconds\":" << of.cpu_seconds << ",\"faults\":{";
    const char* between = "";
    for (const auto& [name, tally] : of.troubles) {
        to << between << quoted(name) << ":{\"struck\":" << tally.struck << ",\"bit\":" << tally.bit << "}";
        between = ",";
    }
    to << "},\"checkers\":[";
    between = "";
    for (const judgement& one : of.judgements) {
        to << between << "{\"name\":" << quoted(one.checker) << ",\"checked\":" << one.checked
           << ",\"violations\":" << one.count << ",\"excused\":" << one.excused << "}";
        between = ",";
    }
    to << "]";
    print_list(to, "not_judged", of.not_judged);
    print_list(to, "reasons", of.reasons);
    to << "}\n";
}

}  // namespace mortise::checker
