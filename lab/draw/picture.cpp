// Time goes down, each event has a row of its own, and text is wrapped to the columns of its lane: so no label can lie on another.
#include "lab/draw/picture.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/markup.hpp"
#include "lab/draw/words.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace lab {
namespace {

// Pixels of a column, in the widest of the fonts. Chinese characters take less than two of them.
constexpr double code_column = 7.4;
constexpr double prose_column = 8;
constexpr double bold_column = 9.2;

constexpr int line_height = 17;
constexpr int row_padding = 7;
constexpr int head_height = 34;
constexpr int time_width = 112;
constexpr int axis = 16;  // of a lane
constexpr int words_at = 34;
constexpr int margin = 12;
constexpr int seam = 1;  // parts of a bar overlap, so that none shows when the picture is scaled

double column_of(std::string_view look) {
    if (look.starts_with("code")) return code_column;
    return look.empty() || look == "soft" ? prose_column : bold_column;
}

int pixels_of(const std::string& words, std::string_view look) {
    return static_cast<int>(static_cast<double>(columns_of(words)) * column_of(look)) + 1;
}

std::size_t columns_in(int pixels, std::string_view look) {
    return static_cast<std::size_t>(pixels / column_of(look));
}

std::string element(std::string_view name, const std::string& attributes) {
    return "<" + std::string(name) + " " + attributes + "/>";
}

std::string attribute(const std::string& name, const std::string& value) {
    return name + "=\"" + value + "\" ";
}

std::string number(int value) {
    return std::to_string(value);
}

std::string label(int x, int y, std::string_view look, const std::string& words) {
    return "<text " + attribute("x", number(x)) + attribute("y", number(y)) + attribute("class", std::string(look)) +
           ">" + escaped(words) + "</text>";
}

std::string box(int x, int y, int width, int height, std::string_view look, int corner = 0) {
    return element("rect", attribute("x", number(x)) + attribute("y", number(y)) + attribute("width", number(width)) +
                               attribute("height", number(height)) + attribute("class", std::string(look)) +
                               (corner ? attribute("rx", number(corner)) : ""));
}

std::string stroke(int x1, int y1, int x2, int y2, std::string_view look) {
    return element("path", attribute("d", "M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2)) +
                               attribute("class", std::string(look)));
}

// A part of a lane: from one height to another.
std::string part(int x, int from, int to, line is, bool still) {
    if (from >= to) return {};
    const auto sides = [&](const std::string& look) {
        return stroke(x - 5, from, x - 5, to, look) + stroke(x + 5, from, x + 5, to, look);
    };
    switch (is) {
        case line::none:
            return {};
        case line::idle:
            return still ? stroke(x, from, x, to, "passing") : box(x - 1, from, 2, to - from + seam, "idle");
        case line::waiting:
            return stroke(x, from, x, to, "waiting");
        case line::held:
            return still ? sides("held still") : box(x - 5, from, 10, to - from + seam, "held");
        case line::overlapping:
            return still ? sides("overlapping still") : box(x - 7, from, 14, to - from + seam, "overlapping");
        case line::expired:
            return sides("expired");
    }
    return {};
}

std::string mark(int x, int y, const row& it) {
    const std::string at = number(x) + " " + number(y);
    switch (it.kind) {
        case kind::crash:
            return element("path",
                           attribute("d", "M" + at + "m-7 -7l14 14m0 -14l-14 14") + attribute("class", "cross"));
        case kind::stop:
            return element("path",
                           attribute("d", "M" + at + "m-7 -8h5v16h-5zm9 0h5v16h-5z") + attribute("class", "turn"));
        case kind::resume:
            return element("path", attribute("d", "M" + at + "m-6 -8l14 8l-14 8z") + attribute("class", "turn"));
        case kind::lost:
            return element("path", attribute("d", "M" + at + "m-8 0l8 -8l8 8l-8 8z") + attribute("class", "turn"));
        default:
            return element("circle", attribute("cx", number(x)) + attribute("cy", number(y)) + attribute("r", "6") +
                                         attribute("class", it.bad ? "mark bad" : "mark"));
    }
}

struct line_of_words {
    std::string words;
    std::string_view look;
};

class drawing {
public:
    drawing(const layout& drawn, language in) : drawn_(drawn), in_(in) {
        for (const std::string& each : drawn_.lanes) room_ = std::max(room_, pixels_of(each, "name"));
        for (const row& each : drawn_.rows) {
            for (const auto& [words, look] : words_of(each, unlimited))
                if (each.lane != nobody) room_ = std::max(room_, pixels_of(words, look));
            for (const auto& [words, look] : state_of(each, unlimited))
                state_room_ = std::max(state_room_, pixels_of(words, look));
        }
        const std::size_t lanes = drawn_.lanes.size();
        room_ = std::min(room_, lanes <= 2 ? 282 : lanes == 3 ? 223 : 164);
        state_room_ = std::min(state_room_, 238);
        lane_ = words_at + room_ + 8;
    }

    timeline_picture draw() {
        for (std::size_t i = 0; i < drawn_.rows.size(); ++i) draw(drawn_.rows[i], i);
        const int height = y_ + 4;
        return {head(), {rules(height) + elements_, width(), height}};
    }

private:
    static constexpr int unlimited = 1'000'000;

    int left(std::size_t lane) const { return time_width + static_cast<int>(lane) * lane_; }
    int state_left() const { return left(std::max<std::size_t>(drawn_.lanes.size(), 1)); }
    int width() const { return state_left() + 14 + state_room_ + margin; }

    std::string rules(int height) const {
        std::string made;
        for (std::size_t i = 0; i <= drawn_.lanes.size(); ++i) made += stroke(left(i), 0, left(i), height, "rule");
        return made;
    }

    picture head() const {
        std::string made = box(0, 0, width(), head_height, "head") + label(margin, 22, "soft", words::time.in(in_));
        for (std::size_t i = 0; i < drawn_.lanes.size(); ++i)
            made += label(left(i) + words_at, 22, "name", shortened_front(drawn_.lanes[i], columns_in(room_, "name")));
        made += label(state_left() + 14, 22, "soft", words::server.in(in_));
        return {made, width(), head_height};
    }

    static void put(std::vector<line_of_words>& lines, const std::string& what, std::string_view look, int room) {
        for (std::string& each : wrapped(what, columns_in(room, look), 4)) lines.push_back({std::move(each), look});
    }

    // "granted, token 1" says no more than "granted" beside the token.
    row without_token(row it) const {
        if (!it.takes || it.token == 0) return it;
        for (const auto& [answer, comma, token] : {std::tuple{&it.answer.en, ", ", words::token(it.token).en},
                                                   {&it.answer.zh, "，", words::token(it.token).zh}})
            if (answer->ends_with(comma + token)) answer->erase(answer->size() - (comma + token).size());
        return it;
    }

    std::vector<line_of_words> words_of(const row& it, int room) const {
        std::vector<line_of_words> lines;
        const std::string_view look = it.kind == kind::command ? "code" : it.kind == kind::crash ? "wrong" : "";
        for (std::string& each : words::lines_of(without_token(it), {}, in_, columns_in(room, look)))
            lines.push_back({std::move(each), look});
        if (it.takes && it.token != 0) put(lines, words::token(it.token).in(in_), "token", room);
        for (const text& each : it.notes) put(lines, each.in(in_), it.bad ? "wrong" : "soft", room);
        return lines;
    }

    std::vector<line_of_words> state_of(const row& it, int room) const {
        std::vector<line_of_words> lines;
        for (const text& each : it.state) put(lines, each.in(in_), it.state_is_new ? "code" : "code soft", room);
        return lines;
    }

    int room_for(const row& it) const {
        if (it.kind == kind::pass) return time_width - margin - 4;
        return it.lane == nobody ? state_left() - left(0) - words_at - 16 : room_;
    }

    void draw(const row& it, std::size_t index) {
        const bool passes = it.kind == kind::pass;
        const std::vector<line_of_words> lines = words_of(it, room_for(it));
        const std::vector<line_of_words> state = state_of(it, state_room_);
        const std::size_t most = std::max({lines.size(), state.size(), std::size_t{1}});
        const int height = static_cast<int>(most) * line_height + 2 * row_padding;
        elements_ += "\n<g class=\"row\" data-row=\"" + std::to_string(index) + "\">";
        if (!it.in_full.empty()) elements_ += "<title>" + escaped(it.in_full) + "</title>";
        lanes(it, height);
        if (!passes) time_of(it);
        write(lines, passes ? margin : left(it.lane == nobody ? 0 : it.lane) + words_at, it.lane == nobody && !passes);
        if (passes) elements_ += stroke(left(0), mark_y(), state_left(), mark_y(), "passing");
        if (it.lane != nobody) elements_ += mark(left(it.lane) + axis, mark_y(), it);
        write(state, state_left() + 14, false);
        elements_ += "</g>";
        y_ += height;
    }

    int mark_y() const { return y_ + row_padding + 8; }

    void time_of(const row& it) {
        const std::string time = elapsed(it.time);
        if (time != last_time_) elements_ += label(margin, mark_y() + 5, "name", time);
        last_time_ = time;
    }

    void write(const std::vector<line_of_words>& lines, int x, bool as_note) {
        int longest = 0;
        for (const auto& each : lines) longest = std::max(longest, pixels_of(each.words, each.look));
        if (as_note)
            elements_ += box(x - 8, y_ + 3, longest + 16, static_cast<int>(lines.size()) * line_height + 8, "note", 4);
        int y = mark_y() + 5;
        for (const auto& each : lines) {
            elements_ += label(x, y, each.look, each.words);
            y += line_height;
        }
    }

    void lanes(const row& it, int height) {
        const auto above = [](const cell& c) { return c.above; };
        const auto below = [](const cell& c) { return c.below; };
        band(it, y_, mark_y(), above);
        band(it, mark_y(), y_ + height, below);
        for (std::size_t i = 0; i < it.cells.size(); ++i) {
            const int x = left(i) + axis;
            elements_ += part(x, y_, mark_y(), it.cells[i].above, it.cells[i].still_above);
            elements_ += part(x, mark_y(), y_ + height, it.cells[i].below, it.cells[i].still_below);
        }
    }

    // Behind those who hold it together.
    template <class Side>
    void band(const row& it, int from, int to, Side side) {
        std::size_t first = it.cells.size();
        std::size_t last = 0;
        for (std::size_t i = 0; i < it.cells.size(); ++i)
            if (side(it.cells[i]) == line::overlapping) {
                first = std::min(first, i);
                last = i;
            }
        if (first < last)
            elements_ += box(left(first) + 1, from, left(last + 1) - left(first) - 1, to - from + seam, "pale");
    }

    const layout& drawn_;
    const language in_;
    int room_ = 120;        // for the words of a lane
    int state_room_ = 104;  // for those of the server
    int lane_ = 0;          // with its bar
    int y_ = 0;
    std::string elements_{};
    std::string last_time_{};
};

bool shows(const layout& drawn, line is) {
    return std::any_of(drawn.rows.begin(), drawn.rows.end(), [is](const row& each) {
        return std::any_of(each.cells.begin(), each.cells.end(), [is](const cell& c) { return c.below == is; });
    });
}

bool shows(const layout& drawn, kind is) {
    return std::any_of(drawn.rows.begin(), drawn.rows.end(), [is](const row& each) { return each.kind == is; });
}

}  // namespace

timeline_picture picture_of(const layout& drawn, language in) {
    return drawing(drawn, in).draw();
}

picture legend_of(const layout& drawn, language in, int width) {
    picture made{.width = width, .height = 26};
    int x = margin;
    const auto add = [&](const std::string& sign, const text& what) {
        const int needs = 22 + pixels_of(what.in(in), "soft") + 18;
        if (x > margin && x + needs > width) {
            x = margin;
            made.height += 26;
        }
        made.elements += "<g transform=\"translate(" + number(x) + " " + number(made.height - 26) + ")\">" + sign +
                         label(22, 18, "soft", what.in(in)) + "</g>";
        x += needs;
    };
    for (const auto& [is, what] : {std::pair{line::held, words::held},
                                   {line::overlapping, words::overlapping},
                                   {line::expired, words::expired},
                                   {line::waiting, words::waiting}})
        if (shows(drawn, is)) add(part(8, 4, 23, is, false), what);
    for (const auto& [is, what] : {std::pair{kind::crash, words::crash},
                                   {kind::stop, words::still},
                                   {kind::lost, words::lost},
                                   {kind::resume, words::resumes}})
        if (shows(drawn, is)) add(mark(8, 13, {.kind = is}), what);
    return made;
}

}  // namespace lab
