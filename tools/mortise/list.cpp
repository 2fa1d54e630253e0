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
    if (asked.settings.json) {
        locks->list_in_parts([](std::vector<held_lock> some) {
            std::ranges::sort(some, {}, [](const held_lock& one) -> const std::string& { return one.name; });
            for (const held_lock& one : some) std::cout << as_json(one).text() << "\n";
        });
        return 0;
    }
    const std::vector<held_lock> all = locks->list();
    if (all.empty()) {
        std::cout << "no lock is held in " << plain(locks->store()) << "\n";
    } else {
        const auto width = is_terminal(STDOUT_FILENO) ? std::optional(columns_of(STDOUT_FILENO)) : std::nullopt;
        std::string hidden;
        for (const std::string& row : as_table(all, width, &hidden)) std::cout << row << "\n";
        if (!hidden.empty()) std::cout << fitted(hidden, *width) << "\n";
    }
    return 0;
}

int show(const request& asked) {
    const std::string& name = asked.given.words.front();
    if (name.empty()) refuse("the name of a lock must not be empty");
    std::vector<held_lock> all = client_of(asked.settings)->list();
    std::erase_if(all, [&](const held_lock& one) { return one.name != name; });
    if (asked.settings.json) {
        if (all.empty()) std::cout << json{}.add("name", name).add("held", false).text() << "\n";
        for (const held_lock& one : all) std::cout << as_json(one).add("held", true).text() << "\n";
        return 0;
    }
    if (all.empty()) std::cout << in_quotes(name) << " is not held\n";
    for (const held_lock& one : all) {
        std::cout << in_quotes(name) << " is held by " << holder_text(one.holder) << ", " << share_of(one)
                  << held_for_text(one.holder) << lease_left_text(one) << ", token "
                  << mortise::to_string(one.holder.token) << "; " << one.waiting << " waiting\n";
    }
    return 0;
}

}  // namespace

const verb& list_verb() {
    static const verb made{
        .name = "list",
        .summary = "lists all locks that are held in the store",
        .usage = "",
        .notes =
            "Shows for every held lock the holder, the time held, the rest of the lease, the\n"
            "share, the number of waiters and the token. A - means unknown or none. On a\n"
            "terminal, long names are shortened to fit. Sorted by name; with --json a line\n"
            "for each as the store tells of it: sorted only if there are few hundred.\n",
        .examples = {"mortise list", "mortise list --json"},
        .perform = &list,
    };
    return made;
}

const verb& show_verb() {
    static const verb made{
        .name = "show",
        .summary = "shows who holds one lock, and how many wait for it",
        .usage = "NAME",
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes = "Prints one line for each holder of NAME. Exit: 0, whether it is held or not.\n",
        .examples = {"mortise show deploy", "mortise show deploy --json"},
        .perform = &show,
    };
    return made;
}

}  // namespace command
