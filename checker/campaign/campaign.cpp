#include "checker/campaign/campaign.hpp"

#include "base/push_grace.hpp"
#include "checker/campaign/address.hpp"
#include "checker/campaign/judging.hpp"
#include "checker/campaign/resource.hpp"
#include "checker/campaign/trouble.hpp"
#include "checker/history/log.hpp"
#include "support/children.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include <sys/resource.h>

namespace mortise::checker {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::atomic<int> stopped_by{0};
static_assert(std::atomic<int>::is_always_lock_free);

std::string run_id(std::uint64_t seed) {
    return "mortise-check-" + std::to_string(raw_now() / 1'000'000 % 100'000'000) + "-" + std::to_string(seed);
}

// Asks the store again and again who holds what.
class witness {
public:
    witness(const std::string& url, const lock_plan& plan, const std::string& prefix, history_log& notes)
        : locks_(url, client_options{.reply_timeout = 500ms, .patience = 1s}), notes_(notes) {
        for (std::uint32_t i = 0; i < plan.count(); ++i) names_[plan.name(prefix, i)] = i;
        if (can_tell()) thread_ = std::thread{[this] { run(); }};
    }
    ~witness() {
        over_ = true;
        if (thread_.joinable()) thread_.join();
    }
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;

    bool can_tell() const { return locks_.promises().lists; }

    // Of ours, now. Nothing: the store did not answer.
    std::optional<std::size_t> held() {
        std::error_code failed;
        std::size_t ours = 0;
        for (const held_lock& one : locks_.list(failed)) ours += names_.contains(one.name);
        return failed ? std::nullopt : std::optional{ours};
    }

private:
    void run() {
        while (!over_) {
            look();
            std::this_thread::sleep_for(100ms);
        }
    }
    void look() {
        record note{.op = notes_.next_op(), .what = act::truth};
        notes_.write(note);
        std::error_code failed;
        for (const held_lock& one : locks_.list(failed)) {
            const auto at = names_.find(one.name);
            if (at == names_.end()) continue;
            notes_.write({.op = note.op,
                          .lock = at->second,
                          .what = act::holder,
                          .is = phase::ok,
                          .token = one.holder.token.value()});
        }
        note.is = failed ? phase::unknown : phase::ok;
        notes_.write(note);
    }

    client locks_;
    history_log& notes_;
    std::map<std::string, std::uint32_t> names_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

class campaign {
public:
    campaign(const campaign_plan& plan, const std::function<void(const std::string&)>& told)
        : plan_(plan),
          told_(told),
          url_(plan.servers != nullptr ? plan.servers->fresh_url() : plan.url),
          promised_(client{url_}.promises()),
          locks_{plan.mutexes, plan.shared && promised_.most_capacity > 1},
          prefix_(run_id(plan.seed)),
          dice_(static_cast<unsigned>(plan.seed)) {
        if (promised_.store == "memory")
            throw std::invalid_argument("memory: has no locks that processes could share; try host:");
        if (plan.keeps && !promised_.keeps)
            throw std::invalid_argument(truth_of_url() + " does not promise that idle locks can be kept");
        if (plan.in_order && !promised_.fifo)
            throw std::invalid_argument(truth_of_url() +
                                        " does not promise that locks are granted in order of arrival");
    }

    campaign_result run() {
        if (const std::string why = trouble_with_the_store(); !why.empty()) throw std::runtime_error(why);
        expect_room();
        build_the_network();
        history_log notes{home_ / "campaign"};
        history_log applied{home_ / "resource"};
        const resource_server resource{home_ / "socket", applied, sealing()};
        if (!plan_.clock_shim.empty()) clock_.emplace(plan_.clock_shim);
        crew workers{setup_of_crew()};
        gather_troubles(workers, resource);
        {
            witness truth{url_, locks_, prefix_, notes};
            told_("the store is " + truth_of_url() + "; " + std::to_string(plan_.processes) + " processes, " +
                  std::to_string(troubles_.size()) +
                  (troubles_.size() == 1 ? " kind of fault, seed " : " kinds of faults, seed ") +
                  std::to_string(plan_.seed));
            make_trouble(workers, notes);
            heal_everything(notes);
            settle(workers);
            finish(workers, truth);
        }
        look_at_what_is_left(notes);
        return verdict(workers);
    }

private:
    struct inflicted {
        std::size_t which = 0;
        std::uint64_t op = 0;
    };

    std::string truth_of_url() const { return client{url_}.store(); }  // secrets are masked

    // Of a user's store: why a lock cannot be taken there now.
    std::string trouble_with_the_store() const {
        if (plan_.servers != nullptr) return {};
        client trial{url_, client_options{.patience = 5s}};
        const attempt got = trial.try_acquire(prefix_ + "/trial", {.wait = 5s});
        return got ? std::string{} : got.refusal().detail;
    }

    // Logs are mapped files, which need their room when they are written.
    void expect_room() const {
        constexpr std::uintmax_t least = 200'000'000;
        const std::uintmax_t there = std::filesystem::space(home_.path()).available;
        if (there < least)
            throw std::runtime_error("the logs need 200 MB or more, and " + home_.path() + " has room for " +
                                     std::to_string(there / 1'000'000) + " MB; set TMPDIR");
    }

    // Or until a signal came.
    static void sleep(std::chrono::duration<double> lasts) {
        const auto until = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(lasts);
        do {
            if (const int signal = stopped_by.load()) throw interrupted{signal};
            std::this_thread::sleep_for(std::min<steady_clock::duration>(until - steady_clock::now(), 100ms));
        } while (steady_clock::now() < until);
    }

    bool sealing() const { return plan_.sealing && promised_.tokens; }

    // How long a hold stays in the store when its owner is gone: the lease, or the session.
    milliseconds outlasts() const {
        return std::max(plan_.lease, plan_.servers != nullptr ? plan_.servers->frees_the_dead_after() : 0ms);
    }
    // Whoever waits longer than this has been forgotten: everybody else may be served first.
    milliseconds bound() const { return outlasts() + static_cast<int>(plan_.processes) * plan_.stay + 6s; }

    void build_the_network() {
        const auto address = address_in(url_);
        if (plan_.only_pauses || plan_.in_order) return;
        if (!address && url_.find("//") != std::string::npos)
            result_.not_judged.push_back(
                "what a bad network does (cut, delayed and frozen connections): the address is not one port of "
                "127.0.0.1 "
                "without TLS, and nothing could be put in between");
        if (!address) return;
        for (std::size_t i = 0; i < plan_.processes; ++i) {
            network_.push_back(std::make_unique<testing::tcp_proxy>(address->port));
            urls_.push_back(address->through(network_.back()->port()));
        }
    }

    crew::setup setup_of_crew() {
        crew::setup how{.size = plan_.processes, .directory = home_.path(), .urls = urls_};
        how.orders = {.url = url_,
                      .resource = home_ / "socket",
                      .prefix = prefix_,
                      .seed = plan_.seed,
                      .lease = plan_.lease,
                      .stay = plan_.stay,
                      .pause = plan_.pause,
                      .mutexes = plan_.mutexes,
                      .shared = locks_.shared,
                      .sealing = sealing(),
                      .checks = plan_.checks,
                      .in_order = plan_.in_order,
                      .keeps = plan_.keeps};
        if (clock_) {
            const auto words = clock_->command();
            how.settings.assign(words.begin() + 1, words.end());
        }
        return how;
    }

    // A group is what shares a victim: of each, one fault at a time.
    void gather_troubles(crew& workers, const resource_server& resource) {
        const auto add = [this](std::vector<trouble> more) {
            for (trouble& one : more) {
                one.group = next_group_;
                troubles_.push_back(std::move(one));
            }
            ++next_group_;
        };
        add(troubles_of(workers, [&resource] { return resource.amid(); }));
        if (!workers.can_stop_threads())
            told_("the kernel does not let us stop single threads: there is no such fault");
        if (!network_.empty()) add(troubles_of(network_));
        if (!network_.empty()) add(troubles_of(workers, network_));
        if (clock_) add(troubles_of(*clock_));
        if (plan_.servers != nullptr) add(troubles_of(plan_.servers->faults()));
        leave_the_only_ones();
    }

    void leave_the_only_ones() {
        const std::vector<std::string> only = plan_.only_pauses ? std::vector<std::string>{"process stopped"}
                                              : plan_.in_order  ? std::vector<std::string>{"process killed"}
                                                                : plan_.only;
        if (only.empty()) return;
        std::string names;
        for (const trouble& one : troubles_) names += (names.empty() ? "" : "; ") + one.name;
        for (const std::string& wanted : only)
            if (std::none_of(troubles_.begin(), troubles_.end(),
                             [&](const trouble& one) { return one.name == wanted; }))
                throw std::invalid_argument("there is no fault \"" + wanted + "\" here, but " + names);
        std::erase_if(troubles_,
                      [&](const trouble& one) { return std::find(only.begin(), only.end(), one.name) == only.end(); });
    }

    // All kinds in turn, in an order that the seed decides.
    std::size_t next_trouble() {
        if (deck_.empty()) {
            for (std::size_t i = 0; i < troubles_.size(); ++i) deck_.push_back(i);
            std::shuffle(deck_.begin(), deck_.end(), dice_);
        }
        const std::size_t drawn = deck_.back();
        deck_.pop_back();
        return drawn;
    }

    std::vector<std::size_t> drawn() {
        std::vector<std::size_t> round{next_trouble()};
        if (dice_() % 3 != 0 || troubles_.size() < 2) return round;
        const std::size_t more = next_trouble();
        if (troubles_[more].group != troubles_[round[0]].group)
            round.push_back(more);
        else
            deck_.push_back(more);
        return round;
    }

    void make_trouble(crew& workers, history_log& notes) {
        sleep(1s);
        const auto end = steady_clock::now() + plan_.length;
        for (int rounds = 0; steady_clock::now() < end; ++rounds) {
            std::vector<inflicted> now;
            double longest = 0;
            for (const std::size_t which : drawn()) {
                now.push_back({which, strike(which, notes)});
                longest = std::max(longest, troubles_[which].longest);
            }
            const double share = 0.05 + 0.95 * static_cast<double>(dice_() % 1000) / 1000;
            const auto lasts = plan_.only_pauses ? 1.3 * outlasts() : longest * share * plan_.lease;
            sleep(lasts);
            for (const inflicted& one : now) heal(one, notes);
            for (std::string& odd : workers.look_after()) result_.reasons.push_back(std::move(odd));
            const milliseconds rest = 5000ms - std::chrono::duration_cast<milliseconds>(lasts);
            const milliseconds calm{dice_() % static_cast<unsigned>(plan_.calm.count() + 1)};
            sleep(plan_.only_pauses ? std::max(rest, 1000ms) : calm);
            if (rounds % 20 == 19) told_(std::to_string(rounds + 1) + " rounds of faults");
        }
    }

    std::uint64_t strike(std::size_t which, history_log& notes) {
        record note{.op = notes.next_op(), .what = act::fault, .value = which + 1};
        notes.write(note);
        note.is = troubles_[which].strike(dice_) ? phase::ok : phase::fail;
        notes.write(note);
        return note.op;
    }
    void heal(const inflicted& one, history_log& notes) {
        record note{.op = one.op, .what = act::heal, .value = one.which + 1};
        notes.write(note);
        note.is = troubles_[one.which].heal() ? phase::ok : phase::fail;
        notes.write(note);
    }

    void heal_everything(history_log& notes) {
        for (auto& one : network_) one->thaw();
        notes.write({.what = act::heal, .is = phase::ok, .value = 0});
    }

    void settle(crew& workers) {
        sleep(bound());
        for (std::string& odd : workers.look_after()) result_.reasons.push_back(std::move(odd));
    }

    // All leave, and what the killed had goes by itself.
    void finish(crew& workers, witness& truth) {
        for (std::string& odd : workers.dismiss(40s)) result_.reasons.push_back(std::move(odd));
        lists_ = truth.can_tell();
        if (!lists_) left_ = 0;
        const auto until = steady_clock::now() + bound();
        std::optional<std::size_t> seen;
        while (left_ != 0 && steady_clock::now() < until) {
            seen = truth.held();
            left_ = seen.value_or(1);
            if (left_ != 0) sleep(100ms);
        }
        if (lists_ && !seen) {  // that is no evidence of anything
            left_ = 0;
            result_.reasons.push_back(
                "void: at the end the store did not list what is left in it; mortise doctor may know why");
        }
        if (const std::string why = trouble_with_the_store(); !why.empty()) {
            reached_ = false;
            result_.reasons.push_back("void: at the end the store could not be used: " + why);
        }
    }

    void look_at_what_is_left(history_log& notes) {
        if (left_ == 0 && plan_.servers != nullptr) {
            const auto remains = plan_.servers->remains_at(url_);
            left_ = remains.clean ? 0 : 1;
            told_("left in the store: " + (remains.figures.empty() ? "nothing" : remains.figures));
        }
        notes.write({.what = act::leftover, .is = phase::ok, .value = left_});
    }

    campaign_result verdict(const crew& workers) {
        evidence seen;
        std::vector<std::string> files = workers.logs();
        files.push_back(home_ / "campaign");
        std::erase_if(files, [](const std::string& file) { return !std::filesystem::exists(file); });
        seen.all = merged(files);
        const log_contents applied = read_log(home_ / "resource");
        seen.applied = applied.records;
        seen.all.full = seen.all.full || applied.full;
        for (const trouble& one : troubles_) {
            seen.troubles.push_back(one.name);
            seen.forgetting.push_back(one.forgets && plan_.excuses);
            seen.forgetting_releases.push_back(one.forgets_releases && plan_.excuses);
        }
        seen.bound = std::chrono::nanoseconds{bound()}.count();
        seen.answered_in = std::chrono::nanoseconds{std::min<milliseconds>(plan_.lease, base::push_grace)}.count();
        seen.mutexes = plan_.mutexes;
        seen.sealing = plan_.sealing;
        seen.tokens = promised_.tokens;
        seen.lists = lists_;
        seen.reached = reached_;
        seen.in_order = plan_.in_order;
        seen.keeps = plan_.keeps;
        result_.processes = workers.started();
        result_.store = truth_of_url();
        result_.seed = plan_.seed;
        for (std::uint32_t i = 0; i < locks_.count(); ++i) result_.lock_names.push_back(locks_.name("", i).substr(1));
        rusage used{};
        ::getrusage(RUSAGE_CHILDREN, &used);
        result_.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                              static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
        judge(std::move(seen), result_);
        return std::move(result_);
    }

    const campaign_plan plan_;
    const std::function<void(const std::string&)> told_;
    const std::string url_;
    const promises promised_;
    const lock_plan locks_;
    const std::string prefix_;
    const testing::scratch_directory home_{};
    std::minstd_rand dice_;
    std::optional<testing::movable_clock> clock_{};
    std::vector<std::unique_ptr<testing::tcp_proxy>> network_{};
    std::vector<std::string> urls_{};
    std::vector<trouble> troubles_{};
    int next_group_ = 0;
    std::vector<std::size_t> deck_{};
    std::size_t left_ = 1;
    bool lists_ = true;
    bool reached_ = true;  // at the end
    campaign_result result_{};
};

}  // namespace

campaign_result run_campaign(const campaign_plan& plan, const std::function<void(const std::string&)>& told) {
    return campaign{plan, told}.run();
}

void stop_campaign(int signal) noexcept {
    stopped_by.store(signal);
}

}  // namespace mortise::checker
