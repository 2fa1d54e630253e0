// `doctor` and `schema`: whether a store is fit for locks, and what has to be set up in it.
#include "failure.hpp"
#include "json.hpp"
#include "settings.hpp"
#include "store_client.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <iostream>

namespace command {
namespace {

using mortise::finding;

std::string_view colour(finding::grade grade) {
    switch (grade) {
        case finding::grade::good:
            return "\x1b[32m";
        case finding::grade::note:
            return "";
        case finding::grade::warning:
            return "\x1b[33m";
        case finding::grade::problem:
            break;
    }
    return "\x1b[31m";
}

void print(const finding& one) {
    const bool coloured = colour_on(STDOUT_FILENO);
    std::string grade(to_string(one.is));
    grade.resize(9, ' ');
    std::cout << (coloured ? std::string(colour(one.is)) + grade + "\x1b[0m" : grade) << plain(one.what) << "\n";
    if (!one.remedy.empty()) std::cout << "         -> " << plain(one.remedy) << "\n";
}

json finding_as_json(const finding& one) {
    json made;
    made.add("grade", to_string(one.is)).add("what", one.what).add("remedy", one.remedy);
    return made;
}

int doctor(const request& asked) {
    const auto opened = client_of(asked.settings);
    mortise::client& locks = *opened;
    std::error_code ec;
    const std::vector<finding> found = locks.check(ec);
    if (ec) throw mortise::error(ec, "store " + locks.store() + ": " + ec.message());
    const mortise::promises& can = locks.promises();
    if (asked.settings.json) {
        for (const finding& one : found) std::cout << finding_as_json(one).text() << "\n";
    } else {
        std::cout << plain(locks.store()) << ": " << can.store << ", " << can.reach << "\n";
        for (const finding& one : found) print(one);
        if (!can.ends.empty()) std::cout << "Exclusion ends when:\n";
        for (const std::string& one : can.ends) std::cout << "         - " << one << "\n";
    }
    const bool ill =
        std::any_of(found.begin(), found.end(), [](const finding& one) { return one.is == finding::grade::problem; });
    return ill ? static_cast<int>(exit_code::unavailable) : 0;
}

int schema(const request& asked) {
    const auto opened = client_of(asked.settings);
    const mortise::client& locks = *opened;
    const std::string text = locks.schema();
    if (asked.settings.json) {
        std::cout << json{}.add("store", locks.store()).add("schema", text).text() << "\n";
    } else if (text.empty()) {
        std::cout << "no setup is needed in " << plain(locks.store()) << "\n";
    } else {
        std::cout << text;
    }
    return 0;
}

}  // namespace

const verb& doctor_verb() {
    static const verb made{
        .name = "doctor",
        .summary = "diagnoses the store, with remedies",
        .usage = "",
        .notes =
            "Prints findings, each with its remedy, and the conditions under which the store\n"
            "no longer guarantees exclusion. Exit: 0, 69 locking does not work.\n",
        .examples = {"mortise doctor", "mortise doctor --json"},
        .perform = &doctor,
    };
    return made;
}

const verb& schema_verb() {
    static const verb made{
        .name = "schema",
        .summary = "prints the setup that the store needs before use",
        .usage = "",
        .notes = "Statements in the store's own language, for its operator to review and run.\n",
        .examples = {"mortise schema"},
        .perform = &schema,
    };
    return made;
}

}  // namespace command
