#include "claim_arguments.hpp"

#include "failure.hpp"
#include "settings.hpp"
#include "text.hpp"

#include <algorithm>

#include <unistd.h>

namespace command {
namespace {

constexpr std::uint32_t all_readers = std::uint32_t{1} << 31;  // the capacity of a shared_mutex

// "2/5": two of five.
void read_permits(const std::string& text, mortise::claim& wanted) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos) refuse("--permits " + in_quotes(text) + " is not K/N, as in 1/5 (one of five)");
    wanted.weight = static_cast<std::uint32_t>(read_number("--permits", text.substr(0, slash), 1, all_readers));
    wanted.capacity = static_cast<std::uint32_t>(read_number("--permits", text.substr(slash + 1), 1, all_readers));
    if (wanted.weight > wanted.capacity) refuse("--permits " + in_quotes(text) + " asks for more than there are");
    wanted.options.order = mortise::order::fifo;  // as counting_semaphore, which it meets on the name
}

void only_one(const arguments& given, std::initializer_list<const char*> options) {
    const char* first = nullptr;
    for (const char* each : options) {
        if (!given.has(each)) continue;
        if (first != nullptr) refuse(std::string(first) + " and " + each + " cannot be combined");
        first = each;
    }
}

}  // namespace

std::vector<option> claim_options_and(std::vector<option> own) {
    own.insert(own.begin(), {{'n', "nonblock", "", "do not wait: exit 1 if NAME is held, 69 if no store"},
                             {'w', "wait", "T", "wait at most T (2, 0.5s, 200ms, 5m); default: for ever"},
                             {'s', "shared", "", "read lock, shared with other -s"},
                             {'x', "exclusive", "", "write lock, excludes -s and -x"},
                             {0, "permits", "K/N", "K of N permits of a semaphore"},
                             {'E', "conflict-exit-code", "N", "exit N instead of 1 if NAME is held"},
                             {0, "lease", "T", "how long the lock lasts if it cannot be renewed"},
                             {0, "no-renew", "", "never renew: the lock ends with its lease"},
                             {0, "label", "TEXT", "shown to waiters; default: the program's name"}});
    return own;
}

std::vector<option> without(std::vector<option> all, std::initializer_list<std::string_view> names) {
    std::erase_if(all, [&](const option& each) { return std::ranges::find(names, each.name) != names.end(); });
    return all;
}

mortise::claim claim_of(const request& asked) {
    const arguments& given = asked.given;
    only_one(given, {"--nonblock", "--wait"});
    only_one(given, {"--shared", "--exclusive", "--permits"});
    mortise::claim wanted{.name = given.words.front()};
    if (given.has("--nonblock")) wanted.options.wait = std::chrono::nanoseconds::zero();
    if (const auto wait = given.value("--wait")) wanted.options.wait = read_duration("-w", *wait);
    if (given.has("--shared")) wanted.capacity = all_readers;
    if (given.has("--exclusive")) wanted.capacity = wanted.weight = all_readers;
    if (const auto permits = given.value("--permits")) read_permits(*permits, wanted);
    if (const auto lease = given.value("--lease")) wanted.options.lease = read_duration("--lease", *lease);
    if (given.has("--no-renew")) {
        if (!given.has("--lease")) refuse("--no-renew needs --lease T");
        wanted.options.renew = mortise::renew::off;
    }
    wanted.options.label = given.value("--label").value_or(asked.settings.label.value_or(""));
    return wanted;
}

int busy_code_of(const arguments& given) {
    const auto code = given.value("--conflict-exit-code");
    return code ? static_cast<int>(read_number("-E", *code, 0, 255)) : static_cast<int>(exit_code::busy);
}

void require_shared_store(const mortise::client& locks) {
    if (!locks.promises().processes)
        refuse(locks.store() + " is shared by the threads of one process only, not by commands; use host: instead");
}

void require_detached_claims(const mortise::client& locks) {
    if (!locks.promises().detached)
        refuse(locks.store() + " releases a lock when the process that acquired it ends; use run or hold instead");
}

std::string this_holder() {
    char host[256]{};
    ::gethostname(host, sizeof host - 1);
    return std::string(host) + ":" + std::to_string(::getpid());
}

}  // namespace command
