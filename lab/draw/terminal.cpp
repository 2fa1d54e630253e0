#include "lab/draw/terminal.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/layout.hpp"
#include "lab/draw/verdict.hpp"
#include "lab/draw/words.hpp"
#include "lab/story.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lab {
namespace {

constexpr std::string_view bold = "1", dim = "2", red = "1;31", green = "1;32", blue = "34", yellow = "33";

// What a lane looks like, in Unicode and in ASCII.
struct glyph {
    std::string_view fine, plain;
    std::string_view colour;
};

glyph glyph_of(line is, bool still) {
    switch (is) {
        case line::none:
            return {" ", " ", ""};
        case line::idle:
            return still ? glyph{"·", ".", dim} : glyph{"│", "|", dim};
        case line::waiting:
            return {"┊", ":", yellow};
        case line::held:
            return still ? glyph{"║", "H", blue} : glyph{"┃", "#", blue};
        case line::overlapping:
            return still ? glyph{"║!", "H!", red} : glyph{"┃!", "#!", red};
        case line::expired:
            return still ? glyph{"╎", "~", yellow} : glyph{"╏", "~", yellow};
    }
    return {};
}

glyph mark_of(const row& it) {
    switch (it.kind) {
        case kind::crash:
            return {"✗", "X", red};
        case kind::stop:
            return {"‖", "=", yellow};
        case kind::resume:
            return {"▶", ">", yellow};
        case kind::lost:
            return {"◌", "~", yellow};
        default:
            return {"●", "o", it.bad ? red : bold};
    }
}

class timeline {
public:
    timeline(std::ostream& out, language in, const terminal_options& options, const layout& drawn)
        : out_(out), in_(in), options_(options), drawn_(drawn) {
        std::size_t longest = 3;
        for (const std::string& each : drawn_.lanes) longest = std::max(longest, columns_of(each));
        const std::size_t lanes = std::max<std::size_t>(drawn_.lanes.size(), 1);
        const std::size_t room =
            options_.width > time_width + words_at_least ? options_.width - time_width - words_at_least : 0;
        lane_ = std::clamp(room / lanes, std::size_t{5}, longest + 2);
        const std::size_t left = time_width + lane_ * drawn_.lanes.size() + 1;
        words_ = options_.width > left + 12 ? options_.width - left : 12;
    }

    void paragraph(const text& label, const text& what, std::string_view colour = "") {
        const std::string head = label.empty() ? "" : label.in(in_) + (in_ == language::chinese ? "：" : ": ");
        const std::string indent(columns_of(head), ' ');
        bool first = true;
        for (const std::string& each : wrapped(typed(harmless(what.in(in_))), room_after(indent.size()))) {
            out_ << (first ? painted(head, dim) : indent) << painted(each, colour) << '\n';
            first = false;
        }
    }

    void head() {
        std::string names;
        for (const std::string& each : drawn_.lanes) names += padded_to(shortened_front(each, lane_ - 1), lane_);
        names.erase(names.find_last_not_of(' ') + 1);
        out_ << '\n' << std::string(time_width, ' ') << painted(names, bold) << '\n';
    }

    void body() {
        std::string last;
        for (const row& each : drawn_.rows) {
            const std::string time = each.kind == kind::pass ? "" : elapsed(each.time);
            draw(each, time == last ? "" : time);
            if (!time.empty()) last = time;
        }
        out_ << '\n';
    }

    void legend() {
        std::vector<std::pair<line, text>> all{{line::held, words::held},
                                               {line::overlapping, words::overlapping},
                                               {line::expired, words::expired},
                                               {line::waiting, words::waiting}};
        std::erase_if(all, [this](const auto& each) { return !shows(each.first); });
        if (all.empty()) return;
        std::string line;
        for (const auto& [is, what] : all) {
            const glyph sign = glyph_of(is, false);
            const std::string item = std::string(options_.unicode ? sign.fine : sign.plain) + " " + what.in(in_);
            if (columns_of(line) + 3 + columns_of(item) > options_.width) {
                out_ << painted(line, dim) << '\n';
                line.clear();
            }
            line += (line.empty() ? "" : "   ") + item;
        }
        out_ << painted(line, dim) << '\n';
    }

private:
    static constexpr std::size_t time_width = 8;
    static constexpr std::size_t words_at_least = 34;

    struct styled {
        std::string words;
        std::string_view colour;
    };

    std::size_t room_after(std::size_t columns) const {
        return std::max<std::size_t>(options_.width > columns ? options_.width - columns : 0, 20);
    }

    std::string painted(const std::string& plain, std::string_view colour) const {
        const std::string words = typed(plain);
        if (!options_.colour || colour.empty() || words.empty()) return words;
        return "\x1b[" + std::string(colour) + "m" + words + "\x1b[0m";
    }

    std::string painted(const glyph& sign, std::size_t columns) const {
        const std::string shown(options_.unicode ? sign.fine : sign.plain);
        return painted(shown, sign.colour) + std::string(columns - std::min(columns, columns_of(shown)), ' ');
    }

    // For terminals that have ASCII only.
    std::string typed(std::string words) const {
        if (options_.unicode) return words;
        for (const auto& [fine, plain] : {std::pair{"→", "->"}, {"–", "-"}, {"…", "~"}, {"×", "x"}})
            for (std::size_t at; (at = words.find(fine)) != words.npos;)
                words.replace(at, std::string_view(fine).size(), plain);
        return words;
    }

    bool shows(line is) const {
        return std::any_of(drawn_.rows.begin(), drawn_.rows.end(), [is](const row& each) {
            return std::any_of(each.cells.begin(), each.cells.end(), [is](const cell& c) { return c.below == is; });
        });
    }

    // The words of a row, as lines.
    std::vector<styled> words_of(const row& it) const {
        std::vector<styled> lines;
        const auto put = [&](const std::string& what, std::string_view colour, const std::string& indent) {
            for (const std::string& each : wrapped(typed(what), words_ - indent.size(), 4))
                lines.push_back({indent + each, colour});
        };
        const std::string_view look = it.bad ? red : it.kind == kind::pass ? dim : "";
        for (std::string& each :
             words::lines_of(it, words::subject_of(drawn_, it, in_), in_, words_ - (options_.unicode ? 0 : 1)))
            lines.push_back({std::move(each), look});
        for (const text& each : it.notes) put((it.bad ? "! " : "") + each.in(in_), it.bad ? red : "", "  ");
        if (it.state_is_new)
            for (const text& each : it.state) put(each.in(in_), dim, "  ");
        return lines;
    }

    std::string token_of(const row& it) const {
        return it.takes && it.token != 0 ? "#" + std::to_string(it.token) : "";
    }

    std::string lanes(const row& it, bool first) const {
        std::string made;
        for (std::size_t i = 0; i < drawn_.lanes.size(); ++i) {
            const cell look = i < it.cells.size() ? it.cells[i] : cell{};
            if (!first || it.lane != i) {
                made += painted(glyph_of(first ? look.above : look.below, first ? look.still_above : look.still_below),
                                lane_);
                continue;
            }
            const std::string token = token_of(it);
            made += painted(mark_of(it), 1) + painted(padded_to(token, lane_ - 1), blue);
        }
        return made;
    }

    void draw(const row& it, const std::string& time) {
        bool first = true;
        for (const styled& each : words_of(it)) {
            out_ << painted(padded_to(first ? time : "", time_width), dim) << lanes(it, first)
                 << painted(each.words, each.colour) << '\n';
            first = false;
        }
    }

    std::ostream& out_;
    const language in_;
    const terminal_options& options_;
    const layout& drawn_;
    std::size_t lane_ = 0;
    std::size_t words_ = 0;
};

}  // namespace

void print_timeline(std::ostream& out, const story& told, const performance& played, language in,
                    const terminal_options& options) {
    const layout drawn = layout_of(played.trace);
    timeline page{out, in, options, drawn};
    const text form = words::of_form(played.played);
    page.paragraph({}, {told.title.en + " – " + form.en, told.title.zh + "：" + form.zh}, bold);
    page.paragraph(words::mistake, told.mistake);
    if (played.played == form::naive)
        page.paragraph(words::happens, told.told);
    else
        page.paragraph(words::mend, told.mend);
    page.head();
    page.body();
    page.legend();
    const verdict end = verdict_of(told, played);
    page.paragraph({}, end.sentence, end.good ? green : red);
}

}  // namespace lab
