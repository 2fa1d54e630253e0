#include "figures.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace bench {
namespace {

// Three digits at least, and never 1e+06.
std::string number(double value) {
    const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    std::string plain = text;
    if (digits == 0) {
        for (std::size_t left = plain.size(); left > 3; left -= 3) plain.insert(left - 3, ",");
    }
    return plain;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

std::string described(const bar& one, bool missed) {
    char limit[64];
    std::snprintf(limit, sizeof limit, "%g", one.limit);
    const std::string rule = std::string(one.side == bar::side::at_least ? "at least " : "at most ") + limit;
    return missed ? "bar missed: " + rule : "bar met: " + rule;
}

}  // namespace

spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {median, values.front(), values.back()};
}

spread ratio_of(const std::vector<double>& values, const std::vector<double>& baseline) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < values.size() && i < baseline.size(); ++i) {
        ratios.push_back(baseline[i] > 0 ? values[i] / baseline[i] : 0);
    }
    return spread_of(ratios);
}

void table::print(const figure& one) {
    const std::string heading = one.workload + ": " + one.metric + ", " + one.unit;
    if (heading != heading_) out_ << "\n" << heading << "\n";
    heading_ = heading;

    std::string line = "  " + one.subject;
    line.resize(std::max<std::size_t>(line.size(), 30), ' ');
    line += padded(number(one.value.median), 12);
    line += "  " + padded(number(one.value.least), 11) + " - " + number(one.value.most);
    if (one.ratio) {
        line.resize(std::max<std::size_t>(line.size() + 2, 72), ' ');
        line += number(one.ratio->median) + " x " + one.baseline;
        line += " (" + number(one.ratio->least) + " - " + number(one.ratio->most) + ")";
        if (one.bar) line += "  " + described(*one.bar, one.bar_missed());
    }
    out_ << line << std::endl;
}

void print_json(std::ostream& out, const figure& one) {
    // The texts are ours and hold nothing that JSON would have escaped.
    std::string object;
    const auto add = [&](const std::string& key, const std::string& value) {
        object += (object.empty() ? "{\"" : ",\"") + key + "\":" + value;
    };
    const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
    const auto plain = [](double value) {
        char digits[64];
        std::snprintf(digits, sizeof digits, "%.6g", value);
        return std::string(digits);
    };
    add("workload", quoted(one.workload));
    add("subject", quoted(one.subject));
    add("metric", quoted(one.metric));
    add("unit", quoted(one.unit));
    add("value", plain(one.value.median));
    add("min", plain(one.value.least));
    add("max", plain(one.value.most));
    if (one.ratio) {
        add("baseline", quoted(one.baseline));
        add("ratio", plain(one.ratio->median));
        add("ratio_min", plain(one.ratio->least));
        add("ratio_max", plain(one.ratio->most));
    }
    if (one.ratio && one.bar) add("bar_met", one.bar_missed() ? "false" : "true");
    out << object << '}' << std::endl;
}

}  // namespace bench
