#include "lab/playbill.hpp"

#include "lab/draw/html.hpp"
#include "lab/draw/svg.hpp"
#include "lab/draw/terminal.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/json.hpp"
#include "tools/mortise/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
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
    if (played.is == rehearsal::verdict::not_installed || played.is == rehearsal::verdict::unplayed)
        return {played.trouble};
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
            command::json line;
            line.add("story", each.name).add("row", each.row).add("documents", each.documents);
            line.add("title", each.title.in(how_.speaks)).add("mistake", each.mistake.in(how_.speaks));
            line.add("outcome", all_of(each.ends_in).in(how_.speaks));
            std::cout << line.text() << '\n';
        }
        rows.push_back({each.name, each.row + ", " + each.documents, each.mistake.in(how_.speaks),
                        all_of(each.ends_in).in(how_.speaks)});
    }
    if (!how_.json) print_rows(rows);
    return 0;
}

void playbill::begins(const story& next) {
    ++begun_;
    if (command::is_terminal(STDERR_FILENO) && !how_.in_full)
        progress_.draw(std::to_string(begun_) + "/" + std::to_string(how_.stories) + "  " + next.name);
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

// Several stories, or two forms in pictures, need a directory.
std::string playbill::file_for(const std::string& place, const std::string& name) const {
    if (!std::filesystem::is_directory(place) && !place.ends_with('/')) return place;
    std::filesystem::create_directories(place);
    return std::filesystem::path(place) / name;
}

void playbill::write(const std::string& path, const std::string& bytes) const {
    std::ofstream out{path, std::ios::binary | std::ios::trunc};
    out << bytes;
    if (!out.flush()) throw command::failure(command::exit_code::output, "cannot write " + command::in_quotes(path));
}

void playbill::draw() const {
    const std::string ending = how_.speaks == language::chinese ? ".zh" : "";
    for (const line& each : lines_)
        if (!how_.svg.empty() && !each.played.seen.trace.empty())
            write(file_for(how_.svg, each.told->name + (each.slot == form::naive ? "" : "-mended") + ending + ".svg"),
                  svg_of(*each.told, each.played.seen, how_.speaks));
    if (how_.html.empty()) return;
    for (std::size_t i = 1; i < lines_.size(); ++i)
        if (lines_[i].told == lines_[i - 1].told)
            write(file_for(how_.html, lines_[i].told->name + ".html"),
                  page_of(*lines_[i].told, lines_[i - 1].played.seen, lines_[i].played.seen));
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
    int code = 0;
    for (const line& each : lines_) {
        if (each.played.is != rehearsal::verdict::as_told) code = 1;
        if (!how_.json) continue;
        command::json made;
        made.add("story", each.told->name).add("form", each.slot == form::naive ? "naive" : "mended");
        made.add("expected", all_of(each.played.expected).in(how_.speaks));
        made.add("seen", outcome_of(each.played).in(how_.speaks));
        made.add("verdict", mark_of(each.played.is));
        std::cout << made.text() << '\n';
    }
    if (!how_.json) print_table();
    return code;
}

}  // namespace lab
