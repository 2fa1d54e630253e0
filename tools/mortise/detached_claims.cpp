// `acquire`, `renew` and `release`: locks that no process keeps, for scripts that cannot wrap their work into one command.
#include "acquisition.hpp"
#include "claim_arguments.hpp"
#include "failure.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "store_client.hpp"
#include "verbs.hpp"

#include <charconv>
#include <cstdlib>
#include <iostream>

namespace command {
namespace {

using namespace std::chrono_literals;

std::vector<option> detached_options() {
    std::vector<option> all = without(claim_options_and({}), {"no-renew"});
    for (option& each : all)
        if (each.name == "lease") each.help = "how long the lock lasts; default 30 s";
    return all;
}

// A store's answer to these has no reason in it.
[[noreturn]] void throw_unsettled(std::error_code ec, const std::string& name, const mortise::client& locks,
                                  const char* what_follows) {
    const std::string where = in_quotes(name) + " on " + locks.store() + ": ";
    if (ec != mortise::errc::unreachable) throw mortise::error(ec, where + ec.message());
    throw mortise::error(ec, where + "no conclusive answer; run mortise doctor to find out why. " + what_follows);
}

[[noreturn]] void throw_not_held(const std::string& name) {
    throw failure(exit_code::lost, "no claim on " + in_quotes(name) +
                                       " has this id: its lease expired, it was released or broken, or the id is of "
                                       "another name");
}

const option id_option{0, "id", "ID", "the id that acquire printed; default: MORTISE_ID"};

// 32 hex digits, as claim_id::hex() writes them.
mortise::claim_id read_id(const std::string& text) {
    mortise::claim_id made;
    bool good = text.size() == 32;
    for (std::size_t half = 0; half < 2 && good; ++half) {
        const char* begin = text.data() + half * 16;
        const auto read = std::from_chars(begin, begin + 16, made.bits[half], 16);
        good = read.ec == std::errc{} && read.ptr == begin + 16;
    }
    if (!good) refuse("--id: an id has 32 hex digits, as acquire prints it");  // it is a secret: not shown
    return made;
}

mortise::claim_id id_of(const arguments& given) {
    if (const auto text = given.value("--id")) return read_id(*text);
    const char* text = std::getenv("MORTISE_ID");
    if (text == nullptr || *text == '\0') refuse("the claim is missing; give --id ID, or set MORTISE_ID");
    return read_id(text);
}

int acquire(const request& asked) {
    mortise::claim wanted = claim_of(asked);
    wanted.options.kept_by = mortise::kept_by::lease;
    wanted.options.renew = mortise::renew::off;
    if (!wanted.options.lease) wanted.options.lease = 30s;
    if (wanted.options.label.empty()) wanted.options.label = "mortise acquire";
    const double lease = std::chrono::duration<double>(*wanted.options.lease).count();
    const signal_source signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    acquisition got = acquire_lock(asked, std::move(wanted), signals);
    if (!got.hold) return got.code;

    std::error_code none;
    const mortise::token token = got.hold.token(none);
    const std::string shown = none ? "" : to_string(token);
    if (asked.settings.json) {
        json made;
        made.add("name", got.hold.name()).add("id", got.hold.id().hex()).add("token", shown).add("lease_s", lease);
        std::cout << made.text() << std::endl;
    } else {
        std::cout << got.hold.id().hex() << " " << shown << std::endl;
    }
    if (std::cout) return 0;
    got.hold.release();  // nobody knows its id
    throw failure(exit_code::output, "cannot write the id to stdout; the lock was released");
}

int renew(const request& asked) {
    const std::string& name = asked.given.words.front();
    const mortise::claim_id id = id_of(asked.given);
    const auto lease = read_duration("--lease", asked.given.value("--lease").value_or("30s"));
    const auto opened = client_of(asked.settings);
    mortise::client& locks = *opened;
    require_detached_claims(locks);
    std::error_code ec;
    const bool renewed = locks.renew(name, id, lease, ec);
    if (asked.settings.json) {
        json made;
        made.add("name", name).add("renewed", renewed).add("lease_s", std::chrono::duration<double>(lease).count());
        std::cout << made.text() << "\n";
    }
    if (renewed) return 0;
    if (ec == mortise::errc::lost) throw_not_held(name);
    if (ec == mortise::errc::invalid_option) refuse("--lease of " + readable(lease) + ": use 100 ms to 24 h");
    throw_unsettled(ec, name, locks, "The lock may or may not have been renewed");
}

int release(const request& asked) {
    const std::string& name = asked.given.words.front();
    const mortise::claim_id id = id_of(asked.given);
    // Nobody repeats it when this process has gone, so it has as long as any other question to the store.
    const auto patience = asked.settings.patience.value_or(mortise::client_options{}.patience);
    const auto opened = client_of(asked.settings, {.release_wait = patience});
    mortise::client& locks = *opened;
    require_detached_claims(locks);
    std::error_code ec;
    const mortise::release_result how = locks.release(name, id, ec);
    if (asked.settings.json) {
        json made;
        made.add("name", name).add("result", to_string(how));
        std::cout << made.text() << "\n";
    }
    switch (how) {
        case mortise::release_result::released:
            return 0;
        case mortise::release_result::unknown:
            throw_unsettled(ec, name, locks, "The lock is free when its lease ends, at the latest");
        default:
            throw_not_held(name);
    }
}

}  // namespace

const verb& acquire_verb() {
    static const verb made{
        .name = "acquire",
        .summary = "acquires a lock that outlives this process, for a lease",
        .usage = "[options] NAME",
        .options = detached_options(),
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes =
            "Waits for NAME and prints the claim's id, which release needs, and the token.\n"
            "The lock belongs to no process and ends with its lease. If you can, use run.\n"
            "Exit: 0, 1 NAME is held, 64 the store has no such locks, 69 store unreachable.\n",
        .examples = {"set -- $(mortise acquire --lease 9s x) && MORTISE_ID=$1 mortise release x"},
        .perform = &acquire,
    };
    return made;
}

const verb& renew_verb() {
    static const verb made{
        .name = "renew",
        .summary = "renews a lock of acquire",
        .usage = "[--lease T] [--id ID] NAME",
        .options = {id_option, {0, "lease", "T", "how long it lasts from now; default 30 s"}},
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes =
            "Never shortens the lease. Renew well before it ends: every third of the lease.\n"
            "Exit: 0, 64 the store has no such locks, 69 store unreachable (the lock may\n"
            "or may not have been renewed), 75 the lock had already ended.\n",
        .examples = {"set -- $(mortise acquire -w 9s x) && mortise renew x --lease 5s --id $1"},
        .perform = &renew,
    };
    return made;
}

const verb& release_verb() {
    static const verb made{
        .name = "release",
        .summary = "releases a lock of acquire",
        .usage = "[--id ID] NAME",
        .options = {id_option},
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes =
            "Anybody who knows the id can release the lock, and other users of this machine\n"
            "can read your command line: pass the id in MORTISE_ID instead.\n"
            "Exit: 0, 64 the store has no such locks, 69 store unreachable, 75 the lock had\n"
            "already ended.\n",
        .examples = {"set -- $(mortise acquire --lease 9s x) && mortise release x --id $1"},
        .perform = &release,
    };
    return made;
}

}  // namespace command
