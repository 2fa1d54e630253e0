// mortise-check: locks under faults, against a store of the user's or against private servers, with a verdict.
#include "checker/campaign/campaign.hpp"
#include "checker/campaign/crew.hpp"
#include "checker/report/report.hpp"
#include "tools/mortise/arguments.hpp"
#include "tools/mortise/failure.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>

#include <signal.h>
#include <unistd.h>

namespace mortise::checker {
namespace {

enum exit_code : int { is_sound = 0, is_violated = 1, bad_usage = 2, is_void = 3 };

constexpr std::string_view help =
    R"(mortise-check: does the lock hold, on this store, while everything goes wrong?

  mortise-check --store URL [--minutes N]      a store of yours
  mortise-check --private NAME [--minutes N]   a server that it starts and ends

Processes take locks, change what the locks protect, and write down every call. Meanwhile they are killed
and stopped, their connections are cut, delayed and frozen, and, with --private, the server is too. Then
checkers read what was written down. They trust only the machine's own clock and the recorded calls, never
what the library says of itself.

  --store URL      client-side faults only, under names of its own; your other locks are left alone. A proxy
                   stands between only if the URL names one port of this machine, without TLS. An address with
                   a password goes in MORTISE_STORE
  --private NAME   all faults. NAME is a fixture: host, redis, etcd, zookeeper, mysql, postgres, ...;
                   "list" lists them
  --minutes N      how long there are faults; default 1. --seconds N instead, for the impatient
  --processes N    default 5
  --lease T        in milliseconds; default 2000. Short leases expire more often under faults
  --seed N         chooses faults and their order; default: from the clock, and printed
  --stay T         how long a lock is held, at most, in milliseconds; default 20
  --pause T        between two locks of a process, at most, in milliseconds; default 0. Spares the processor
  --mutex-only     no readers and no permits, for stores that have neither
  --unfenced       the resource takes every write, whatever its token
  --careless       holders never ask whether they still hold: what most programs do
  --no-excuses     what a store forgot counts too: lost data of Redis, KILL of a connection that is a lock
  --clock-shim FILE  build/tests/libwall_clock_shim.so: wall clocks jump, of processes and of Redlock's servers
  --only FAULT     no fault but this one, or these, with ; between them; another name lists them
  --keep           mutexes and read-write locks are locked through objects of clients that keep them while they are idle
  --in-order       no faults but deaths; all wait in order of arrival, and the order is judged too
  --pauses         no faults but Jepsen's: every 5 s one process is stopped for longer than its lease, if it can be
                   between its read and its write
  --json           the verdict as one line
  --html FILE      a page with the verdict and a timeline
  --version        which Mortise it is of

Exit: 0 sound, 1 violated, 2 the command line is wrong, 3 void: a fault never bit, a checker had nothing to
look at, or the store could not be used, so the run says nothing; 128 + N: signal N ended it. All kinds of faults
need some 40 seconds, and a run that is void for a fault that never bit wants to be longer.

  mortise-check --store redis://127.0.0.1 --minutes 5 --html verdict.html
  mortise-check --private etcd --pauses --unfenced --careless      # updates are lost
  mortise-check --private etcd --pauses --careless                 # with seals, none
)";

constexpr command::option options[] = {
    {0, "store", "URL"},  {0, "private", "NAME"},    {0, "minutes", "N"},
    {0, "seconds", "N"},  {0, "processes", "N"},     {0, "lease", "T"},
    {0, "seed", "N"},     {0, "mutex-only"},         {0, "unfenced"},
    {0, "no-excuses"},    {0, "careless"},           {0, "pauses"},
    {0, "json"},          {0, "html", "FILE"},       {0, "stay", "T"},
    {0, "pause", "T"},    {0, "clock-shim", "FILE"}, {'h', "help"},
    {0, "only", "FAULT"}, {0, "in-order"},           {0, "version"},
    {0, "keep"},
};

std::uint64_t number(const command::arguments& given, const std::string& name, std::uint64_t otherwise,
                     std::uint64_t least, std::uint64_t most) {
    const auto text = given.value("--" + name);
    if (!text) return otherwise;
    std::uint64_t found = 0;
    const bool digits = !text->empty() && text->size() < 19 && text->find_first_not_of("0123456789") == text->npos;
    if (digits) found = std::stoull(*text);
    if (!digits || found < least || found > most)
        command::refuse("--" + name + " is a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most) + ", not \"" + *text + "\"");
    return found;
}

// "one; another"
std::vector<std::string> listed(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream parts(text);
    for (std::string one; std::getline(parts >> std::ws, one, ';');)
        if (const auto last = one.find_last_not_of(' '); last != one.npos) found.push_back(one.substr(0, last + 1));
    return found;
}

campaign_plan plan_of(const command::arguments& given) {
    campaign_plan plan;
    if (given.has("--minutes") && given.has("--seconds")) command::refuse("say either --minutes or --seconds");
    const std::uint64_t minutes = number(given, "minutes", 1, 1, 10'000);
    plan.length = std::chrono::seconds{number(given, "seconds", 60 * minutes, 1, 600'000)};
    plan.processes = number(given, "processes", 5, 2, 200);
    plan.lease = std::chrono::milliseconds{number(given, "lease", 2000, 100, 600'000)};
    plan.stay = std::chrono::milliseconds{number(given, "stay", 20, 1, 60'000)};
    plan.pause = std::chrono::milliseconds{number(given, "pause", 0, 0, 60'000)};
    plan.seed = number(given, "seed", static_cast<std::uint64_t>(raw_now() / 1000 % 1'000'000), 1, 1'000'000'000);
    plan.shared = !given.has("--mutex-only");
    plan.sealing = !given.has("--unfenced");
    plan.checks = !given.has("--careless");
    plan.excuses = !given.has("--no-excuses");
    plan.only_pauses = given.has("--pauses");
    plan.in_order = given.has("--in-order");
    plan.keeps = given.has("--keep");
    plan.only = listed(given.value("--only").value_or(""));
    if (plan.only_pauses + plan.in_order + !plan.only.empty() > 1)
        command::refuse("--pauses, --in-order and --only each say which faults there are: one of them");
    if (plan.only_pauses || plan.in_order) {
        plan.shared = false;
        plan.mutexes = 1;
    }
    plan.clock_shim = given.value("--clock-shim").value_or("");
    if (!plan.clock_shim.empty() && ::access(plan.clock_shim.c_str(), R_OK) != 0)
        command::refuse("--clock-shim: cannot read \"" + plan.clock_shim + "\"");
    if (!plan.clock_shim.empty()) ::setenv("MORTISE_WALL_CLOCK_SHIM", plan.clock_shim.c_str(), 1);  // for servers
    return plan;
}

// What one has to say to repeat it, but for the address, which may have a password.
std::string described(const campaign_plan& plan) {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    char when[32];
    const std::size_t length = std::strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    std::ostringstream said;
    said << std::string_view{when, length} << ", mortise-check " << MORTISE_VERSION << ": --seconds "
         << plan.length.count() / 1000 << " --processes " << plan.processes << " --lease " << plan.lease.count()
         << " --stay " << plan.stay.count() << " --pause " << plan.pause.count() << " --seed " << plan.seed;
    for (const auto& [is, word] :
         {std::pair{!plan.shared, " --mutex-only"}, std::pair{!plan.sealing, " --unfenced"},
          std::pair{!plan.checks, " --careless"}, std::pair{!plan.excuses, " --no-excuses"},
          std::pair{plan.only_pauses, " --pauses"}, std::pair{plan.in_order, " --in-order"},
          std::pair{plan.keeps, " --keep"}, std::pair{!plan.clock_shim.empty(), " --clock-shim FILE"}})
        if (is) said << word;
    for (const std::string& one : plan.only) said << (&one == plan.only.data() ? " --only \"" : "; ") << one;
    if (!plan.only.empty()) said << '"';
    return said.str();
}

spi::fixture& chosen(const spi::fixtures& all, const std::string& name) {
    std::string names;
    for (const auto& one : all) {
        if (one->store() == name) return *one;
        if (!one->spans_processes()) continue;
        names += (names.empty() ? "" : ", ") + std::string(one->store());
    }
    command::refuse("--private is one of " + names);
}

int list(const spi::fixtures& all) {
    for (const auto& one : all)
        if (one->spans_processes()) std::cout << one->store() << "\n";
    return is_sound;
}

// Tried before anything else is done, not after an hour; but what was there stays until there is a verdict.
class page {
public:
    explicit page(const std::optional<std::string>& file) : file_(file) {
        if (!file_) return;
        fresh_ = !std::filesystem::exists(*file_);
        if (!std::ofstream(*file_, std::ios::app)) command::refuse("--html: cannot write \"" + *file_ + "\"");
    }
    ~page() {
        std::error_code ignored;
        if (fresh_) std::filesystem::remove(*file_, ignored);
    }
    page(const page&) = delete;
    page& operator=(const page&) = delete;

    void write(const campaign_result& result) {
        if (!file_) return;
        std::ofstream out{*file_};
        print_page(out, result);
        out.flush();
        if (!out) throw std::runtime_error("cannot write " + *file_);
        fresh_ = false;
    }

private:
    const std::optional<std::string> file_;
    bool fresh_ = false;  // it was not there before, and is empty
};

void print_verdict(const command::arguments& given, const campaign_result& result) {
    if (given.has("--json"))
        print_json(std::cout, result);
    else
        print(std::cout, result);
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("cannot write the verdict to standard output");
}

// The first asks for an end, with all that was made cleared away; the second is not waited for.
void end_by_signals() {
    struct sigaction how {};
    how.sa_handler = stop_campaign;
    how.sa_flags = SA_RESETHAND;
    for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(one, &how, nullptr);
}

int perform(const std::vector<std::string>& line) {
    const command::arguments given = command::read(options, {}, line);
    if (given.has("--help")) {
        std::cout << help;
        return is_sound;
    }
    if (given.has("--version")) {
        std::cout << "mortise-check " << MORTISE_VERSION << "\n";
        return is_sound;
    }
    const char* usual = std::getenv("MORTISE_STORE");
    if (given.has("--store") && given.has("--private")) command::refuse("say either --store URL or --private NAME");
    if (!given.has("--store") && !given.has("--private") && usual == nullptr)
        command::refuse("say --store URL, or set MORTISE_STORE; or say --private NAME (mortise-check --help)");
    const spi::fixtures all = spi::all_fixtures();
    if (given.value("--private") == "list") return list(all);
    campaign_plan plan = plan_of(given);
    if (!given.has("--private")) plan.url = given.has("--store") ? *given.value("--store") : usual;
    if (const auto name = given.value("--private")) {
        plan.servers = &chosen(all, *name);
        if (!plan.servers->spans_processes()) command::refuse(*name + " has no locks that processes could share");
        if (!plan.servers->reason_against("shared_mutex").empty() || !plan.servers->reason_against("semaphore").empty())
            plan.shared = false;
    }
    page shown{given.value("--html")};
    end_by_signals();
    const std::string how = described(plan);
    campaign_result result = run_campaign(plan, [](const std::string& said) { std::cerr << said << std::endl; });
    result.how = how;
    print_verdict(given, result);
    shown.write(result);
    switch (result.is) {
        case outcome::sound:
            return is_sound;
        case outcome::violated:
            return is_violated;
        default:
            return is_void;
    }
}

}  // namespace
}  // namespace mortise::checker

int main(int count, char** given) try {
    if (const auto worked = mortise::checker::work_if_told()) return *worked;
    return mortise::checker::perform(std::vector<std::string>(given + (count > 0 ? 1 : 0), given + count));
} catch (const command::failure& failed) {
    std::cerr << "mortise-check: " << failed.what() << "\n";
    return 2;
} catch (const std::invalid_argument& failed) {
    std::cerr << "mortise-check: " << failed.what() << "\n";
    return 2;
} catch (const mortise::error& failed) {
    std::cerr << "mortise-check: " << failed.what() << "\n";
    return failed.code() == mortise::errc::bad_url || failed.code() == mortise::errc::unknown_store ? 2 : 3;
} catch (const mortise::checker::interrupted& by) {
    std::cerr << "mortise-check: interrupted, so there is no verdict\n";
    return 128 + by.signal;
} catch (const std::exception& failed) {
    std::cerr << "mortise-check: " << failed.what() << "\n";
    return 3;
}
