// `list` and `show`: who holds what.
#include "failure.hpp"
#include "holders.hpp"
#include "settings.hpp"
#include "store_client.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace command {
namespace {

using mortise::held_lock;

int list(const request& asked) {
    const auto locks = client_of(asked.settings);
    const std::vector<held_lock> all = locks->list();
    if (asked.settings.json) {
        for (const held_lock& one : all) std::cout << as_json(one).text() << "\n";
    } else if (all.empty()) {
        std::cout << "nothing is held on " << plain(locks->store()) << "\n";
    } else {
        const auto width = is_terminal(STDOUT_FILENO) ? std::optional(columns_of(STDOUT_FILENO)) : std::nullopt;
        for (const std::string& row : as_table(all, width)) std::cout << row << "\n";
    }
    return 0;
}

int show(const request& asked) {
    const std::string& name = asked.given.words.front();
    if (name.empty()) refuse("the name of a lock is never empty");
    std::vector<held_lock> all = client_of(asked.settings)->list();
    std::erase_if(all, [&](const held_lock& one) { return one.name != name; });
    if (asked.settings.json) {
        if (all.empty()) std::cout << json{}.add("name", name).add("held", false).text() << "\n";
        for (const held_lock& one : all) std::cout << as_json(one).add("held", true).text() << "\n";
        return 0;
    }
    if (all.empty()) std::cout << in_quotes(name) << " is not held\n";
    for (const held_lock& one : all) {
        std::cout << in_quotes(name) << " is held by " << who(one.holder) << ", " << share_of(one)
                  << how_long(one.holder) << what_is_left(one) << ", token " << mortise::to_string(one.holder.token)
                  << "; " << one.waiting << " waiting\n";
    }
    return 0;
}

}  // namespace

const verb& list_verb() {
    static const verb made{
        .name = "list",
        .summary = "who holds what, everybody's locks on the store",
        .usage = "",
        .notes =
            "Shows every lock that is held: holder, for how long, what is left of its lease,\n"
            "share, how many wait, token. A - is not known, or there is none. On a terminal\n"
            "long names are cut to fit.\n",
        .examples = {"mortise list", "mortise list --json"},
        .perform = &list,
    };
    return made;
}

const verb& show_verb() {
    static const verb made{
        .name = "show",
        .summary = "who holds one lock, and how many wait for it",
        .usage = "NAME",
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes = "Shows who holds NAME; one line for each holder. Exits with 0, held or not.\n",
        .examples = {"mortise show deploy", "mortise show deploy --json"},
        .perform = &show,
    };
    return made;
}

}  // namespace command
