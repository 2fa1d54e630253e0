#include "lab/draw/svg.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/layout.hpp"
#include "lab/draw/markup.hpp"
#include "lab/draw/picture.hpp"
#include "lab/draw/verdict.hpp"
#include "lab/draw/words.hpp"
#include "lab/story.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lab {
namespace {

constexpr int edge = 12;

// Parts of the document from top to bottom.
class sheet {
public:
    explicit sheet(int width) : width_(width) {}

    void words(const std::string& all, std::string_view look, int size) {
        const auto columns = static_cast<std::size_t>((width_ - 2 * edge) / (0.62 * size));
        for (const std::string& each : wrapped(harmless(all), columns, 4)) {
            y_ += size + 7;
            made_ += "<text x=\"12\" y=\"" + std::to_string(y_) + "\" class=\"" + std::string(look) + "\">" +
                     escaped(each) + "</text>\n";
        }
    }
    void space(int height) { y_ += height; }
    void put(const picture& part) {
        made_ += "<g transform=\"translate(0 " + std::to_string(y_) + ")\">" + part.elements + "</g>\n";
        y_ += part.height;
    }
    void banner(const std::string& all, bool good) {
        const std::string top = std::to_string(y_);
        const int before = y_;
        const std::string below = std::exchange(made_, {});
        y_ += 4;
        words(all, "verdict", 15);
        y_ += 11;
        made_ = below + "<rect x=\"0\" y=\"" + top + "\" width=\"" + std::to_string(width_) + "\" height=\"" +
                std::to_string(y_ - before) + "\" class=\"" + (good ? "is-good" : "is-bad") + "\"/>\n" + made_;
    }

    const std::string& elements() const { return made_; }
    int width() const { return width_; }
    int height() const { return y_; }

private:
    const int width_;
    int y_ = 4;
    std::string made_{};
};

std::string document(const sheet& all, const std::string& title, language in) {
    const std::string width = std::to_string(all.width());
    const std::string height = std::to_string(all.height());
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width + " " + height + "\" width=\"" + width +
           "\" height=\"" + height + "\" role=\"img\" xml:lang=\"" + (in == language::chinese ? "zh" : "en") +
           "\">\n<title>" + escaped(harmless(title)) + "</title>\n<style>" + picture_style() +
           "</style>\n<rect width=\"100%\" height=\"100%\" " + "class=\"page\"/>\n" + all.elements() + "</svg>\n";
}

}  // namespace

std::string svg_of(const story& told, const performance& played, language in) {
    const layout drawn = layout_of(played.trace);
    const timeline_picture lanes = picture_of(drawn, in);
    const verdict end = verdict_of(told, played);
    sheet page{std::max(lanes.rows.width, 560)};
    page.words(told.title.in(in), "title", 20);
    page.words(words::of_form(played.played).in(in), "form", 14);
    page.space(4);
    page.words(played.played == form::naive ? told.mistake.in(in) : told.mend.in(in), "", 13);
    page.space(12);
    page.put(lanes.head);
    page.put(lanes.rows);
    page.space(6);
    page.put(legend_of(drawn, in, page.width()));
    page.space(8);
    page.banner(end.sentence.in(in), end.good);
    return document(page, told.title.in(in), in);
}

}  // namespace lab
