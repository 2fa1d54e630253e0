#include "figures.hpp"

#include "tools/mortise/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace bench {
namespace {

std::string three_digits(double value) {
    const int digits = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// In the largest of these that it reaches.
std::string scaled(double value, double step, std::initializer_list<const char*> names) {
    auto name = names.begin();
    while (value >= 0.9995 * step && name + 1 != names.end()) {
        value /= step;
        ++name;
    }
    return three_digits(value) + (**name != '\0' ? " " : "") + *name;
}

const char* name_of(unit one) {
    switch (one) {
        case unit::per_second:
            return "1/s";
        case unit::nanoseconds:
            return "ns";
        case unit::share:
            return "of the mean";
        case unit::bytes:
            return "bytes";
        case unit::processors:
            return "processors";
        case unit::count:
            return "";
    }
    return "";
}

std::string range(const spread& of, unit in) {
    return "(" + readable(of.least, in) + " - " + readable(of.most, in) + ")";
}

// Of characters as they are seen: bytes that begin one.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void print_rows(std::ostream& out, const std::vector<row>& rows) {
    row widest(rows.front().size());
    for (const row& each : rows)
        for (std::size_t i = 0; i < each.size(); ++i)
            if (width_of(each[i]) > width_of(widest[i])) widest[i] = each[i];
    for (const row& each : rows) {
        std::string line = "  " + each[0] + std::string(width_of(widest[0]) - width_of(each[0]), ' ');
        for (std::size_t i = 1; i < each.size(); ++i)
            line += "  " + std::string(width_of(widest[i]) - width_of(each[i]), ' ') + each[i];
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    }
}

std::string bar::described() const {
    return (is == side::at_least ? "at least " : "at most ") + three_digits(limit);
}

bool figure::bar_missed() const {
    if (!bar) return false;
    if (!bar->of_ratio) return std::isfinite(value.median) && !bar->met(value.median);
    return ratio && std::isfinite(ratio->median) && !bar->met(ratio->median);
}

std::string readable(double value, unit of) {
    if (!std::isfinite(value)) return "-";
    switch (of) {
        case unit::per_second:
            return scaled(value, 1000, {"", "k", "M", "G"});
        case unit::nanoseconds:
            return scaled(value, 1000, {"ns", "us", "ms", "s"});
        case unit::bytes:
            return scaled(value, 1024, {"B", "KiB", "MiB", "GiB"});
        case unit::share:
        case unit::processors:
        case unit::count:
            break;
    }
    return three_digits(value);
}

std::string json_of(const figure& one) {
    command::json object;
    object.add("store", one.store)
        .add("workload", one.workload)
        .add("subject", one.subject)
        .add("metric", one.metric.name)
        .add("value", one.value.median)
        .add("unit", name_of(one.metric.unit))
        .add("min", one.value.least)
        .add("max", one.value.most);
    if (one.ratio) {
        object.add("baseline", one.baseline)
            .add("ratio", one.ratio->median)
            .add("ratio_min", one.ratio->least)
            .add("ratio_max", one.ratio->most);
    } else {
        object.add("baseline", nullptr).add("ratio", nullptr);
    }
    if (one.bar) object.add("bar", one.bar->described()).add("bar_met", !one.bar_missed());
    return object.text();
}

void print_table(std::ostream& out, const std::vector<figure>& all) {
    if (all.empty()) return;
    // Columns in the order in which the metrics come first; the headlines take three.
    std::vector<const metric*> metrics;
    for (const figure& each : all)
        if (std::none_of(metrics.begin(), metrics.end(), [&](auto m) { return m->name == each.metric.name; }))
            metrics.push_back(&each.metric);

    std::vector<row> rows{{""}, {""}};  // headings have two lines
    for (const metric* each : metrics) {
        const auto space = each->name.rfind(' ');
        rows[0].push_back(space == each->name.npos ? "" : each->name.substr(0, space));
        rows[1].push_back(each->name.substr(space + 1));
        if (!each->headline) continue;
        rows[0].insert(rows[0].end(), {"", "", ""});
        rows[1].insert(rows[1].end(), {"", "ratio", ""});
    }
    std::string missed;
    const bool several = all.front().store != all.back().store;
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(
            begin, all.end(), [&](const figure& f) { return f.subject != begin->subject || f.store != begin->store; });
        row& now = rows.emplace_back(row{(several ? begin->store + "  " : "") + begin->subject});
        for (const metric* column : metrics) {
            const auto found = std::find_if(begin, end, [&](const figure& f) { return f.metric.name == column->name; });
            now.push_back(found != end ? readable(found->value.median, column->unit) : "");
            if (!column->headline) continue;
            now.push_back(found != end ? range(found->value, column->unit) : "");
            const bool compared = found != end && found->ratio;
            now.push_back(compared ? readable(found->ratio->median, unit::share) : found != end ? "1" : "");
            now.push_back(compared ? range(*found->ratio, unit::share) : "");
        }
        for (auto each = begin; each != end; ++each)
            if (each->bar_missed())
                missed += "  bar missed: " + each->subject + ", " + each->metric.name +
                          (each->bar->of_ratio ? ", ratio " : " ") + each->bar->described() + "\n";
        begin = end;
    }
    out << "\n" << all.front().workload << "\n";
    print_rows(out, rows);
    out << missed << std::flush;
}

}  // namespace bench
