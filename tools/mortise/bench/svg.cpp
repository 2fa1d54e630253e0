#include "svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace bench {
namespace {

constexpr double panel_width = 560;
constexpr double plot_left = 70;
constexpr double plot_right = 540;
constexpr double plot_height = 200;
constexpr double row_height = 17;

// Okabe and Ito's palette, without its yellow.
constexpr std::array<const char*, 7> colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                             "#E69F00", "#56B4E9", "#000000"};
constexpr std::array<const char*, 4> dashes{"", "7 3", "2 3", "9 3 2 3"};

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else if (static_cast<unsigned char>(c) >= ' ')
            safe += c;
    }
    return safe;
}

std::string text_at(double x, double y, std::string_view text, std::string_view how = "") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + std::string(how) + ">" + escaped(text) +
           "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view how) {
    return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
           "\" " + std::string(how) + "/>\n";
}

std::string stroke_of(std::size_t number) {
    const std::string dash = dashes[number % dashes.size()];
    return std::string("fill=\"none\" stroke=\"") + colours[number % colours.size()] + "\" stroke-width=\"2\"" +
           (dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"");
}

using lines = std::vector<const distribution*>;

double height_of(const lines& in) {
    return 30 + row_height * static_cast<double>(in.size()) + plot_height + 70;
}

// Nines: 0 at 0 %, 1 at 90 %, 2 at 99 %.
constexpr double most_nines = 3;
double x_of(double nines) {
    return plot_left + (plot_right - plot_left) * nines / most_nines;
}

std::string panel(const lines& in) {
    // Whole decades around all that is drawn.
    double low = 1e18;
    double high = 1;
    for (const distribution* each : in) {
        low = std::min(low, each->waits.percentile(0));
        high = std::max(high, each->waits.percentile(0.999));
    }
    const double first = std::floor(std::log10(std::max(low, 1.0)));
    const double last = std::max(std::ceil(std::log10(high)), first + 1);
    const double top = 38 + row_height * static_cast<double>(in.size());
    const double bottom = top + plot_height;
    const auto y_of = [&](double nanoseconds) {
        const double at = std::log10(std::max(nanoseconds, 1.0));
        return bottom - plot_height * (at - first) / (last - first);
    };

    std::string out = text_at(10, 18, in.front()->workload, " font-weight=\"bold\"");
    for (std::size_t i = 0; i < in.size(); ++i) {
        const double y = 36 + row_height * static_cast<double>(i);
        out += line_at(plot_left, y - 4, plot_left + 36, y - 4, stroke_of(i));
        out += text_at(plot_left + 44, y, in[i]->store + " " + in[i]->subject);
    }
    for (double decade = first; decade <= last; ++decade) {
        const double y = y_of(std::pow(10, decade));
        out += line_at(plot_left, y, plot_right, y, "stroke=\"#cccccc\"");
        out += text_at(plot_left - 6, y + 4, readable(std::pow(10, decade), unit::nanoseconds), " text-anchor=\"end\"");
    }
    constexpr std::array<std::pair<double, const char*>, 5> marks{
        {{0, "0"}, {0.5, "50"}, {0.9, "90"}, {0.99, "99"}, {0.999, "99.9"}}};
    for (const auto& [share, label] : marks) {
        const double x = x_of(-std::log10(1 - share));
        out += line_at(x, top, x, bottom, "stroke=\"#cccccc\"");
        out += text_at(x, bottom + 16, label, " text-anchor=\"middle\"");
    }
    out += text_at((plot_left + plot_right) / 2, bottom + 34, "% of the locks took at most", " text-anchor=\"middle\"");
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (in[i]->waits.count() == 0) continue;
        std::string points;
        for (int step = 0; step <= 150; ++step) {
            const double nines = most_nines * step / 150;
            const double y = y_of(in[i]->waits.percentile(1 - std::pow(10, -nines)));
            points += number(x_of(nines)) + "," + number(y) + " ";
        }
        points.pop_back();
        out += "<polyline points=\"" + points + "\" " + stroke_of(i) + "/>\n";
    }
    return out;
}

}  // namespace

std::string svg_of(const std::vector<distribution>& all) {
    std::vector<lines> panels;
    for (const distribution& each : all) {
        if (panels.empty() || panels.back().front()->workload != each.workload) panels.emplace_back();
        panels.back().push_back(&each);
    }
    std::string body;
    double height = 0;
    for (std::size_t i = 0; i < panels.size(); i += 2) {
        double tallest = 0;
        for (std::size_t j = i; j < std::min(i + 2, panels.size()); ++j) {
            body += "<g transform=\"translate(" + number(panel_width * static_cast<double>(j - i)) + "," +
                    number(height) + ")\">\n" + panel(panels[j]) + "</g>\n";
            tallest = std::max(tallest, height_of(panels[j]));
        }
        height += tallest;
    }
    const double width = panel_width * (panels.size() > 1 ? 2 : 1);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
           "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           body + "</svg>\n";
}

}  // namespace bench
