// mortise-lab: plays the stories. `mortise lab` starts it, and has the manual.
#include "lab/playbill.hpp"
#include "lab/rehearsal.hpp"
#include "lab/story.hpp"
#include "tools/mortise/arguments.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/terminal.hpp"
#include "tools/mortise/text.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>

namespace lab {
namespace {

constexpr command::option options[] = {
    {0, "all"},          {0, "form", "naive|mended"}, {0, "svg", "FILE"},
    {0, "html", "FILE"}, {0, "lang", "en|zh"},        {0, "swap"},
    {0, "json"},
};

std::vector<const story*> chosen(const command::arguments& given) {
    std::vector<const story*> all;
    std::vector<std::string_view> names;
    for (const story& each : all_stories()) {
        all.push_back(&each);
        names.push_back(each.name);
    }
    if (given.has("--all")) return all;
    std::vector<const story*> some;
    for (auto name = given.words.begin() + 1; name < given.words.end(); ++name) {
        const auto found = std::ranges::find(names, *name);
        if (found == names.end()) {
            const std::string_view meant = command::nearest(*name, names);
            command::refuse("there is no story " + command::in_quotes(*name) +
                            (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?") +
                            " (mortise lab lists them)");
        }
        some.push_back(all[static_cast<std::size_t>(found - names.begin())]);
    }
    if (some.empty()) command::refuse("name a story, or say --all (mortise lab lists them)");
    return some;
}

std::vector<form> forms(const command::arguments& given) {
    const std::string which = given.value("--form").value_or("both");
    if (which == "both") return {form::naive, form::mended};
    if (which != "naive" && which != "mended") command::refuse("--form is naive or mended");
    return {which == "naive" ? form::naive : form::mended};
}

int run(const command::arguments& given, playbill& bill) {
    const casting cast = given.has("--swap") ? casting::swapped : casting::as_told;
    if (given.has("--html") && given.has("--form")) command::refuse("a page shows both forms: leave out --form");
    servers house;
    const auto stories = chosen(given);
    for (const story* each : stories) {
        bill.begins(*each);
        for (const form which : forms(given))
            if (cast == casting::as_told || which == form::naive)
                bill.add(*each, which, rehearse(*each, which, house, cast));
    }
    return bill.ends();
}

language spoken(const command::arguments& given) {
    const std::string code = given.value("--lang").value_or("en");
    if (code != "en" && code != "zh") command::refuse("--lang is en or zh");
    return code == "zh" ? language::chinese : language::english;
}

int perform(const std::vector<std::string>& line) {
    const command::arguments given =
        command::read(options, {.least = 0, .most = 1000, .usage = "[run STORY...]"}, line);
    playbill bill{
        {.speaks = spoken(given),
         .json = given.has("--json"),
         .in_full = !given.has("--all"),
         .svg = given.value("--svg").value_or(""),
         .html = given.value("--html").value_or(""),
         .stories = given.has("--all") ? all_stories().size() : std::max<std::size_t>(given.words.size(), 1) - 1}};
    if (given.words.empty() || given.words[0] == "list") return bill.list();
    if (given.words[0] != "run")
        command::refuse("what to do is `run STORY` or nothing, not " + command::in_quotes(given.words[0]));
    return run(given, bill);
}

}  // namespace
}  // namespace lab

int main(int count, char** given) try {
    return lab::perform(std::vector<std::string>(given + (count > 0 ? 1 : 0), given + count));
} catch (const command::failure& failed) {
    command::complain(std::string("mortise lab: ") + failed.what());
    return static_cast<int>(failed.code());
} catch (const std::exception& failed) {
    command::complain(std::string("mortise lab: ") + failed.what());
    return static_cast<int>(command::exit_code::unavailable);
}
