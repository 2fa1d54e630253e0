// mortise-lab: plays the stories. `mortise lab` starts it, and has the manual.
#include "lab/outputs.hpp"
#include "lab/playbill.hpp"
#include "lab/rehearsal.hpp"
#include "lab/stage/borrowed_redis.hpp"
#include "lab/stage/interruption.hpp"
#include "lab/story.hpp"
#include "tools/mortise/arguments.hpp"
#include "tools/mortise/exit_codes.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/terminal.hpp"
#include "tools/mortise/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace lab {
namespace {

constexpr command::option options[] = {
    {0, "all"},           {0, "form", "naive|mended"}, {0, "svg", "FILE"},
    {0, "html", "FILE"},  {0, "lang", "en|zh"},        {0, "swap"},
    {0, "json"},          {0, "store", "URL"},         {0, "allow-non-empty"},
    {0, "patience", "T"},
};

std::vector<const story*> chosen(const command::arguments& given) {
    std::vector<const story*> all;
    std::vector<std::string_view> names;
    for (const story& each : all_stories()) {
        all.push_back(&each);
        names.push_back(each.name);
    }
    if (given.has("--all") && given.words.size() > 1) command::refuse("name stories, or say --all, not both");
    if (given.has("--all")) return all;
    std::vector<const story*> some;
    for (auto name = given.words.begin() + 1; name < given.words.end(); ++name) {
        const auto found = std::ranges::find(names, *name);
        if (const auto& out = stories_left_out(); found == names.end())
            if (const auto it = std::ranges::find(out, *name, &story_left_out::name); it != out.end())
                throw command::failure(command::exit_code::unavailable, command::in_quotes(*name) +
                                                                            " is not in this build; apt-get install " +
                                                                            it->package + ", and build it again");
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

// `mortise lab` names the store in the environment: the address may have a password. Nobody who is started from here needs it.
std::optional<std::string> store_of(const command::arguments& given) {
    constexpr const char* variable = "MORTISE_LAB_STORE";
    std::optional<std::string> store = given.value("--store");
    if (const char* named = std::getenv(variable); named != nullptr && !store) store = named;
    ::unsetenv(variable);
    return store;
}

servers stage_of(const command::arguments& given) {
    const auto store = store_of(given);
    if (!store && given.has("--allow-non-empty")) command::refuse("--allow-non-empty goes with --store");
    if (!store && given.has("--patience")) command::refuse("--patience goes with --store");
    if (!store) return servers{};
    const auto patience = command::read_duration("--patience", given.value("--patience").value_or("10s"));
    expect_interruption();
    return servers{std::make_unique<borrowed_redis>(*store, given.has("--allow-non-empty"), patience)};
}

language spoken(const command::arguments& given) {
    const std::string code = given.value("--lang").value_or("en");
    if (code != "en" && code != "zh") command::refuse("--lang is en or zh");
    return code == "zh" ? language::chinese : language::english;
}

output_place place_of(const command::arguments& given, std::string_view option, std::size_t stories) {
    const auto where = given.value(option);
    return where ? output_place{option, *where, stories} : output_place{};
}

int run(const command::arguments& given) {
    const casting cast = given.has("--swap") ? casting::swapped : casting::as_told;
    if (given.has("--html") && given.has("--form")) command::refuse("a page shows both forms: leave out --form");
    const auto stories = chosen(given);
    const auto both = forms(given);
    playbill bill{{.speaks = spoken(given),
                   .json = given.has("--json"),
                   .in_full = !given.has("--all"),
                   .svg = place_of(given, "--svg", stories.size()),
                   .html = place_of(given, "--html", stories.size()),
                   .stories = stories.size()}};
    servers house = stage_of(given);
    for (const story* each : stories) {
        bill.begins(*each);
        for (const form which : both)
            if (cast == casting::as_told || which == form::naive) {
                rehearsal played =
                    rehearse(*each, which, house, cast, [&](auto passed, auto of) { bill.waits(passed, of); });
                if (const int signal = interrupted())
                    throw command::failure(static_cast<command::exit_code>(command::ended_by(signal)), "interrupted");
                bill.add(*each, which, std::move(played));
            }
    }
    return bill.ends();
}

int perform(const std::vector<std::string>& line) {
    const command::arguments given =
        command::read(options, {.least = 0, .most = 1000, .usage = "[run STORY...]"}, line);
    if (given.words.empty() || given.words[0] == "list")
        return playbill{{.speaks = spoken(given), .json = given.has("--json")}}.list();
    if (given.words[0] != "run")
        command::refuse("what to do is `run STORY` or nothing, not " + command::in_quotes(given.words[0]));
    return run(given);
}

}  // namespace
}  // namespace lab

int main(int count, char** given) try {
    const int code = lab::perform(std::vector<std::string>(given + (count > 0 ? 1 : 0), given + count));
    if (!std::cout.flush()) throw command::failure(command::exit_code::output, "cannot write the answer to stdout");
    return code;
} catch (const command::failure& failed) {
    command::complain(std::string("mortise lab: ") + failed.what());
    return static_cast<int>(failed.code());
} catch (const std::exception& failed) {
    command::complain(std::string("mortise lab: ") + failed.what());
    return static_cast<int>(command::exit_code::unavailable);
}
