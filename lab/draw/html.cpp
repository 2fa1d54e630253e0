#include "lab/draw/html.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/layout.hpp"
#include "lab/draw/markup.hpp"
#include "lab/draw/page_parts.hpp"
#include "lab/draw/picture.hpp"
#include "lab/draw/verdict.hpp"
#include "lab/draw/words.hpp"
#include "lab/story.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace lab {
namespace {

constexpr language languages[] = {language::english, language::chinese};

std::string code_of(language in) {
    return in == language::chinese ? "zh" : "en";
}

std::string name_of(form which) {
    return which == form::naive ? "naive" : "mended";
}

// Both languages; the style hides one.
std::string both(const text& words) {
    return "<span lang=\"en\">" + escaped(harmless(words.en)) + "</span><span lang=\"zh\">" +
           escaped(harmless(words.zh)) + "</span>";
}

std::string button(const std::string& id, const text& words) {
    return "<button type=\"button\" id=\"" + id + "\">" + both(words) + "</button>\n";
}

std::string list(const std::vector<text>& all, language in) {
    std::string made;
    for (const text& each : all) made += (made.empty() ? "" : ",") + as_json(each.in(in));
    return "[" + made + "]";
}

// One form in one language, as the script wants it: what is said at each step.
class narration {
public:
    narration(const layout& drawn, const verdict& end, language in) : drawn_(drawn), end_(end), in_(in) {}

    std::string told() {
        std::string all = "[" + step(nullptr, 0);
        for (std::size_t i = 0; i < drawn_.rows.size(); ++i) all += ",\n" + step(&drawn_.rows[i], i + 1);
        return all + "]";
    }

private:
    std::string step(const row* it, std::size_t index) {
        if (it && !it->state.empty()) {
            state_ = it->state;
            seen_at_ = elapsed(it->time);
        }
        const text count{"Step " + std::to_string(index) + " of " + std::to_string(drawn_.rows.size()),
                         "第 " + std::to_string(index) + " 步，共 " + std::to_string(drawn_.rows.size()) + " 步"};
        const std::string time = it ? elapsed(it->time) : "0 s";
        const text begins{"The story begins. Press the right arrow key to go on.", "故事开始。按右方向键前进。"};
        return "{\"when\":" + as_json(count.in(in_) + " · " + time) +
               ",\"what\":" + as_json(it ? words::said(drawn_, *it, in_) : begins.in(in_)) +
               ",\"notes\":" + list(it ? notes_of(*it) : std::vector<text>{}, in_) +
               ",\"state\":" + list(known(it), in_) + ",\"holders\":" + as_json(holders(it).in(in_)) +
               ",\"overlap\":" + truth(holding(it).size() > 1) + ",\"bad\":" + truth(it && it->bad) +
               ",\"verdict\":" + as_json(end_.sentence.in(in_)) + ",\"good\":" + truth(end_.good) + "}";
    }

    static std::string truth(bool is) { return is ? "true" : "false"; }

    static std::vector<text> notes_of(const row& it) {
        std::vector<text> all = it.notes;
        if (it.takes && it.token != 0) all.insert(all.begin(), words::token(it.token));
        return all;
    }

    // What was seen last, and when.
    std::vector<text> known(const row* it) const {
        if (state_.empty()) return {{"not looked at yet", "尚未查看"}};
        std::vector<text> all = state_;
        if (it && it->state.empty()) all.push_back({"(seen at " + seen_at_ + ")", "（" + seen_at_ + " 时所见）"});
        return all;
    }

    std::vector<std::string> holding(const row* it) const {
        std::vector<std::string> names;
        for (std::size_t i = 0; it && i < it->cells.size(); ++i)
            if (it->cells[i].below == line::held || it->cells[i].below == line::overlapping)
                names.push_back(drawn_.lanes[i]);
        return names;
    }

    text holders(const row* it) const {
        std::string names;
        const auto all = holding(it);
        for (const std::string& each : all) names += (names.empty() ? "" : ", ") + each;
        if (all.empty()) return {"nobody", "无人"};
        return all.size() == 1 ? text{names} : text{names + ": two at once!", names + "：两个同时持有！"};
    }

    const layout& drawn_;
    const verdict& end_;
    const language in_;
    std::vector<text> state_{};
    std::string seen_at_{};
};

std::string drawing_of(const picture& part) {
    const std::string width = std::to_string(part.width);
    const std::string height = std::to_string(part.height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + " " + height + "\" aria-hidden=\"true\">" + part.elements + "</svg>\n";
}

std::string figure(const layout& drawn, form which, language in) {
    const timeline_picture lanes = picture_of(drawn, in);
    return "<div class=\"figure\" data-form=\"" + name_of(which) + "\" data-language=\"" + code_of(in) +
           "\" hidden>\n" + "<div class=\"lanes\">" + drawing_of(lanes.head) + drawing_of(lanes.rows) + "</div>" +
           drawing_of(legend_of(drawn, in, std::max(lanes.rows.width, 560))) + "</div>\n";
}

std::string controls() {
    return "<div class=\"bar\">\n" + button("previous", {"◀ Back", "◀ 上一步"}) +
           button("next", {"Next ▶", "下一步 ▶"}) +
           "<input type=\"range\" id=\"slider\" min=\"0\" max=\"0\" value=\"0\" aria-label=\"step / 步骤\">\n"
           "<div role=\"group\" aria-label=\"form / 写法\">" +
           button("naive", words::of_form(form::naive)) + button("mended", words::of_form(form::mended)) +
           "</div>\n<div role=\"group\" class=\"end\" aria-label=\"language / 语言\">"
           "<button type=\"button\" id=\"en\"><bdi>English</bdi></button>"
           "<button type=\"button\" id=\"zh\"><bdi>中文</bdi></button></div>\n</div>\n";
}

std::string panel() {
    return "<div id=\"panel\" role=\"region\" aria-live=\"polite\" aria-atomic=\"true\">\n"
           "<div><div id=\"when\" class=\"soft\"></div><div id=\"what\"></div><div id=\"notes\"></div></div>\n<div>"
           "<div class=\"label\">" +
           both({"The server", "服务器"}) + "</div><div id=\"state\"></div><div class=\"label\">" +
           both({"Those who believe that they hold the lock", "谁自认为持有锁"}) +
           "</div><div id=\"holders\"></div></div>\n</div>\n<p id=\"verdict\" role=\"status\"></p>\n";
}

std::string head(const story& told) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
           escaped(harmless(told.title.en + " / " + told.title.zh)) + "</title>\n<style>" + page_style() +
           "</style>\n</head>\n";
}

}  // namespace

std::string page_of(const story& told, const performance& naive, const performance& mended) {
    std::string figures;
    std::string steps;
    for (const performance* each : {&naive, &mended}) {
        const form which = each == &naive ? form::naive : form::mended;
        const layout drawn = layout_of(each->trace);
        const verdict end = verdict_of(told, *each);
        steps += (steps.empty() ? "" : ",\n") + as_json(name_of(which)) + ":{";
        for (const language in : languages) {
            figures += figure(drawn, which, in);
            steps +=
                (in == language::english ? "" : ",\n") + as_json(code_of(in)) + ":" + narration(drawn, end, in).told();
        }
        steps += "}";
    }
    return head(told) + "<body>\n<main>\n<h1>" + both(told.title) + "</h1>\n<p>" + both(told.mistake) +
           "</p>\n<p class=\"soft\">" + both(told.told) + "</p>\n<p class=\"soft\">" + both(words::mend) + ": " +
           both(told.mend) + "</p>\n" + controls() + panel() + figures +
           "</main>\n<script type=\"application/json\" id=\"steps\">{" + steps + "}</script>\n<script>" + page_script +
           "</script>\n</body>\n</html>\n";
}

}  // namespace lab
