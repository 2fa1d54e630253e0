// `watch`: who holds what, as it changes.
#include "changes.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "holders.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "signals.hpp"
#include "store_client.hpp"
#include "verbs.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <mutex>

#include <poll.h>
#include <sys/eventfd.h>

namespace command {
namespace {

using mortise::held_lock;
using steady = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct view {
    std::vector<held_lock> locks{};
    std::error_code failed{};
    steady::time_point at{};
};

// What the client's thread saw last, for a loop that polls.
class sighting {
public:
    int get() const noexcept { return bell_.get(); }

    void see(const std::vector<held_lock>& locks, std::error_code failed) {
        const std::scoped_lock guard{mutex_};
        last_ = {locks, failed, steady::now()};
        const std::uint64_t once = 1;
        static_cast<void>(!::write(bell_.get(), &once, sizeof once));
    }
    view look() {
        const std::scoped_lock guard{mutex_};
        std::uint64_t rung = 0;
        static_cast<void>(!::read(bell_.get(), &rung, sizeof rung));
        return last_;
    }

private:
    std::mutex mutex_;
    view last_;
    descriptor bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

std::string time_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm split{};
    ::gmtime_r(&now, &split);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &split)};
}

// For people: the whole table, drawn again where it stands.
class screen {
public:
    void draw(const view& seen, const std::string& store) const {
        std::vector<held_lock> now = seen.locks;
        std::size_t waiting = 0;
        for (held_lock& one : now) {
            const auto passed = steady::now() - seen.at;
            if (one.holder.held_for) *one.holder.held_for += passed;
            if (one.lease_left) *one.lease_left = std::max<std::chrono::nanoseconds>(*one.lease_left - passed, 0ns);
            waiting += one.waiting;
        }
        std::vector<std::string> lines{plain(store) + "  " + time_of_day() + "  " + std::to_string(now.size()) +
                                       " held, " + std::to_string(waiting) + " waiting   (Ctrl-C ends)"};
        const std::size_t width = columns_of(STDOUT_FILENO);
        std::string hidden;
        std::vector<std::string> table = as_table(now, width, &hidden);
        lines.push_back(seen.failed ? "NO ANSWER; last known state: " + seen.failed.message() : hidden);
        for (std::string& row : table) lines.push_back(std::move(row));
        const std::size_t rows = std::max<std::size_t>(rows_of(STDOUT_FILENO), 5) - 1;
        if (lines.size() > rows) {
            const std::size_t left_out = lines.size() - rows + 1;
            lines.resize(rows - 1);
            lines.push_back("... and " + std::to_string(left_out) + " more: mortise list");
        }
        std::cout << "\x1b[H\x1b[2J";
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const bool heading = i == 2 && colour_on(STDOUT_FILENO);
            const std::string text = fitted(lines[i], width);
            std::cout << (heading ? "\x1b[1m" + text + "\x1b[0m" : text) << "\r\n";
        }
        std::cout << std::flush;
    }
};

// For pipes: one line for each change.
class log {
public:
    explicit log(bool as_json) : json_(as_json) {}

    void print(const view& seen) {
        if (seen.failed && seen.failed != failed_)
            say("unreachable", json{}.add("error", seen.failed.message()), seen.failed.message());
        failed_ = seen.failed;
        for (const lock_change& one : changes(before_, seen.locks)) print(one);
        before_ = seen.locks;
        std::cout << std::flush;
    }

private:
    void print(const lock_change& one) const {
        const std::string name = in_quotes(one.lock.name);
        const std::string whose = name + " by " + holder_text(one.lock.holder) + ", " + share_of(one.lock) +
                                  ", token " + mortise::to_string(one.lock.holder.token);
        switch (one.is) {
            case lock_change::what::taken:
                return say("taken", command::as_json(one.lock), whose);
            case lock_change::what::released:
                return say("released", command::as_json(one.lock), whose);
            case lock_change::what::queue:
                return say("queue", command::as_json(one.lock),
                           name + " " + std::to_string(one.lock.waiting) + " waiting");
        }
    }
    void say(std::string_view what, json details, const std::string& words) const {
        if (json_) {
            std::cout << details.add("event", what).add("at", time_of_day()).text() << "\n";
        } else {
            std::cout << time_of_day() << " " << what << " " << words << "\n";
        }
    }

    const bool json_;
    std::vector<held_lock> before_;
    std::error_code failed_;
};

int watch(const request& asked) {
    const std::string name = asked.given.words.empty() ? "" : asked.given.words.front();
    if (name.empty() && !asked.given.words.empty()) refuse("the name of a lock must not be empty");
    auto until = steady::time_point::max();
    if (const auto span = asked.given.value("--for")) until = steady::now() + read_duration("--for", *span);

    const signal_source signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const auto opened = client_of(asked.settings);
    mortise::client& locks = *opened;
    static_cast<void>(locks.list());  // a store that is not there is an error; one that goes away later is news
    const bool live = is_terminal(STDOUT_FILENO) && !asked.settings.json;
    sighting seen;
    const mortise::watch until_the_end =
        locks.watch(name, [&](const auto& now, std::error_code failed) { seen.see(now, failed); });
    log lines{asked.settings.json};
    const screen people;
    for (bool any = false; steady::now() < until;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now());
        const auto pause = until == steady::time_point::max() ? 1000ms : std::min(left, 1000ms);
        pollfd sources[]{{signals.get(), POLLIN, 0}, {seen.get(), POLLIN, 0}};
        ::poll(sources, std::size(sources), static_cast<int>(pause.count()));
        if (sources[0].revents != 0) break;
        any = any || sources[1].revents != 0;
        if (live && any) people.draw(seen.look(), locks.store());
        if (!live && sources[1].revents != 0) lines.print(seen.look());
        if (!std::cout) throw failure(exit_code::output, "cannot write to stdout");
    }
    return 0;
}

}  // namespace

const verb& watch_verb() {
    static const verb made{
        .name = "watch",
        .summary = "shows who holds what, continuously",
        .usage = "[--for T] [NAME]",
        .options = {{0, "for", "T", "stop after T; default: at a signal"}},
        .words = {.least = 0, .most = 1, .usage = "[NAME]"},
        .notes =
            "Shows a live table on a terminal; otherwise prints a line when a lock is taken\n"
            "or released, or its queue changes. Polls the store a few times a second, so it\n"
            "may miss locks that are held only briefly.\n",
        .examples = {"mortise watch --for 1s", "mortise watch deploy --json --for 0.5"},
        .perform = &watch,
    };
    return made;
}

}  // namespace command
