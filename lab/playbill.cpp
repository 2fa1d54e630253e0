#include "lab/playbill.hpp"

#include "lab/draw/html.hpp"
#include "lab/draw/svg.hpp"
#include "lab/draw/terminal.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/json.hpp"
#include "tools/mortise/text.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>

namespace lab {
namespace {

text name_of(form which) {
    return which == form::naive ? text{"as printed", "原文写法"} : text{"mended", "修正写法"};
}

text holds{"it holds", "锁住了"};

text all_of(const std::set<mishap>& some) {
    if (some.empty()) return holds;
    text joined;
    for (const mishap each : some) {
        const text one = to_text(each);
        joined.en += (joined.en.empty() ? "" : ", ") + one.en;
        joined.zh += (joined.zh.empty() ? "" : "，") + one.zh;
    }
    return joined;
}

text outcome_of(const rehearsal& played) {
    if (!played.trouble.empty()) return {played.trouble};
    return all_of(played.seen.seen);
}

std::string_view mark_of(rehearsal::verdict is) {
    switch (is) {
        case rehearsal::verdict::as_told:
            return "ok";
        case rehearsal::verdict::different:
            return "DIFFERENT";
        case rehearsal::verdict::not_installed:
            return "no server";
        case rehearsal::verdict::not_here:
            return "not here";
        case rehearsal::verdict::unplayed:
            break;
    }
    return "NOT PLAYED";
}

using row = std::vector<std::string>;

void print_rows(const std::vector<row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const row& each : rows)
        for (std::size_t i = 0; i < each.size(); ++i) widths[i] = std::max(widths[i], command::columns_in(each[i]));
    for (const row& each : rows) {
        std::string line;
        for (std::size_t i = 0; i < each.size(); ++i) {
            line += each[i];
            if (i + 1 < each.size()) line += std::string(widths[i] + 2 - command::columns_in(each[i]), ' ');
        }
        std::cout << line << '\n';
    }
}

}  // namespace

playbill::playbill(setup how) : how_(std::move(how)) {}

int playbill::list() const {
    std::vector<row> rows{how_.speaks == language::chinese ? row{"故事", "文档", "错误", "结果"}
                                                           : row{"story", "document", "mistake", "outcome"}};
    for (const story& each : all_stories()) {
        if (how_.json) {
            command::json made;
            made.add("story", each.name).add("row", each.row).add("documents", each.documents);
            made.add("title", each.title.in(how_.speaks)).add("mistake", each.mistake.in(how_.speaks));
            made.add("outcome", all_of(each.ends_in).in(how_.speaks));
            std::cout << made.text() << '\n';
        }
        rows.push_back({each.name, each.row + ", " + each.documents, each.mistake.in(how_.speaks),
                        all_of(each.ends_in).in(how_.speaks)});
    }
    if (!how_.json) print_rows(rows);
    tell_left_out();
    return 0;
}

void playbill::tell_left_out() const {
    if (how_.json) return;
    for (const story_left_out& each : stories_left_out())
        std::cout << each.name
                  << (how_.speaks == language::chinese
                          ? "：不在本次构建中；apt-get install " + each.package + "，再构建一次"
                          : ": not in this build; apt-get install " + each.package + ", and build it again")
                  << '\n';
}

void playbill::begins(const story& next) {
    ++begun_;
    if (command::is_terminal(STDERR_FILENO) && !how_.in_full)
        progress_.draw(std::to_string(begun_) + "/" + std::to_string(how_.stories) + "  " + next.name);
}

void playbill::waits(std::chrono::nanoseconds passed, std::chrono::nanoseconds of) {
    using std::chrono::seconds;
    if (!command::is_terminal(STDERR_FILENO)) return;
    const bool chinese = how_.speaks == language::chinese;
    progress_.draw((chinese ? "等待 " : "waits: ") + std::to_string(std::chrono::floor<seconds>(passed).count()) +
                   (chinese ? " / " : " of ") + std::to_string(std::chrono::ceil<seconds>(of).count()) + " s");
}

void playbill::add(const story& told, form slot, rehearsal played) {
    lines_.push_back({&told, slot, std::move(played)});
    if (how_.in_full && !how_.json) show(lines_.back());
}

void playbill::show(const line& each) const {
    if (each.played.seen.trace.empty()) {
        std::cout << each.told->name << ": " << each.played.trouble << "\n\n";
        return;
    }
    print_timeline(std::cout, *each.told, each.played.seen, how_.speaks,
                   {.width = command::columns_of(STDOUT_FILENO), .colour = command::colour_on(STDOUT_FILENO)});
    std::cout << '\n';
}

// What was not played has no picture.
void playbill::draw() const {
    const std::string ending = how_.speaks == language::chinese ? ".zh.svg" : ".svg";
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const line& each = lines_[i];
        if (each.played.seen.trace.empty()) continue;
        const bool mended = each.slot == form::mended;
        const bool second = mended && i > 0 && lines_[i - 1].told == each.told;
        if (how_.svg.wanted())
            how_.svg.write(each.told->name, second ? "-mended" : "", (mended && !second ? "-mended" : "") + ending,
                           svg_of(*each.told, each.played.seen, how_.speaks));
        if (how_.html.wanted() && second && !lines_[i - 1].played.seen.trace.empty())
            how_.html.write(each.told->name, "", ".html",
                            page_of(*each.told, lines_[i - 1].played.seen, each.played.seen));
    }
}

void playbill::print_table() const {
    std::vector<row> rows{how_.speaks == language::chinese ? row{"故事", "写法", "应当", "实际", ""}
                                                           : row{"story", "form", "expected", "seen", ""}};
    for (const line& each : lines_)
        rows.push_back({each.told->name, name_of(each.slot).in(how_.speaks),
                        all_of(each.played.expected).in(how_.speaks), outcome_of(each.played).in(how_.speaks),
                        std::string(mark_of(each.played.is))});
    print_rows(rows);
}

int playbill::ends() {
    progress_.end();
    draw();
    bool different = false;
    bool all_played = true;
    for (const line& each : lines_) {
        different |= each.played.is == rehearsal::verdict::different;
        all_played &= !each.played.seen.trace.empty();
        if (!how_.json) continue;
        command::json made;
        made.add("story", each.told->name).add("form", each.slot == form::naive ? "naive" : "mended");
        made.add("expected", all_of(each.played.expected).in(how_.speaks));
        made.add("seen", outcome_of(each.played).in(how_.speaks));
        made.add("verdict", mark_of(each.played.is));
        std::cout << made.text() << '\n';
    }
    if (!how_.json) print_table();
    if (!how_.in_full) {
        tell_left_out();
        all_played &= stories_left_out().empty();
    }
    if (different) return 1;
    return all_played ? 0 : static_cast<int>(command::exit_code::unavailable);
}

}  // namespace lab
