// `break`: takes a lock away from a holder that is stuck.
#include "claim_arguments.hpp"
#include "failure.hpp"
#include "holders.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "store_client.hpp"
#include "verbs.hpp"

#include <mortise/client.hpp>

#include <charconv>
#include <ctime>
#include <iostream>

namespace command {
namespace {

mortise::token read_token(const std::optional<std::string>& text) {
    if (!text)
        refuse("--token T is missing: the token of the hold to break, from show or list; another hold is never broken");
    std::uint64_t value = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), value);
    if (read.ec != std::errc{} || read.ptr != text->data() + text->size() || value == 0)
        refuse("--token " + in_quotes(*text) + " is not a token; use the whole number that show and list print");
    return mortise::token{value};
}

std::string whose(const std::vector<mortise::held_lock>& all, const std::string& name, mortise::token held) {
    for (const mortise::held_lock& one : all)
        if (one.name == name && one.holder.token.counter() == held.counter()) return holder_text(one.holder);
    return {};
}

int break_it(const request& asked) {
    const std::string& name = asked.given.words.front();
    const mortise::token held = read_token(asked.given.value("--token"));
    const std::string why = asked.given.value("--why").value_or("");
    const auto opened = client_of(asked.settings, {.label = asked.settings.label.value_or("mortise break")});
    mortise::client& locks = *opened;
    const std::string holder = whose(locks.list(), name, held);
    std::error_code ec;
    const bool broken = locks.break_lock(name, held, why, ec);
    if (ec) throw mortise::error(ec, in_quotes(name) + " on " + locks.store() + ": " + ec.message());
    if (!broken)
        throw failure(exit_code::busy, in_quotes(name) + " is not held with token " + mortise::to_string(held) +
                                           " any more; see: mortise show " + name);
    const std::string by = this_holder();
    json made;
    made.add("name", name).add("token", mortise::to_string(held)).add("holder", holder).add("by", by).add("why", why);
    if (asked.settings.json) std::cout << made.text() << "\n";
    inform(asked.settings.json, "broke", made,
           "broke " + in_quotes(name) + ", held by " + (holder.empty() ? "somebody" : holder) + ", token " +
               mortise::to_string(held) + "; by " + by + (why.empty() ? "" : ": " + plain(why)));
    return 0;
}

}  // namespace

const verb& break_verb() {
    static const verb made{
        .name = "break",
        .summary = "breaks the lock of a stuck holder",
        .usage = "--token T [--why TEXT] NAME",
        .options = {{0, "token", "T", "the token of the hold to break, from show"},
                    {0, "why", "TEXT", "the reason, for the record"}},
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes =
            "Breaks the lock only if NAME is still held with that token. The holder is\n"
            "notified and the next token is larger, but the holder may continue to work, so\n"
            "stop it first if you can. By whom, when and why is written to stderr and to the\n"
            "store's record. Exit: 0, 1 NAME is not held with that token, 69 store\n"
            "unreachable.\n",
        .examples = {"set -- $(mortise acquire x) && mortise break x --token $2 --why test 2>&1"},
        .perform = &break_it,
    };
    return made;
}

}  // namespace command
