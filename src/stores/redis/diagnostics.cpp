#include "stores/redis/diagnostics.hpp"

#include "base/text.hpp"
#include "base/told_span.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/rights.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

using enum finding::grade;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t probes = 9;
constexpr seconds clocks_may_differ{2};

// At most so many locks are compared with the clock. Any one of them shows a step since its grant.
constexpr std::size_t looked_at = 1000;
constexpr std::size_t most_pages = 100;  // of a database that has other keys too

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& one : words) all += (all.empty() ? "" : ", ") + one;
    return all;
}

void judge_disk(const server_report& seen, std::vector<finding>& found) {
    const server_info& info = *seen.info;
    if (auto flaw = forgetting(info)) found.push_back(*std::move(flaw));
    if (info.text("aof_last_write_status") == "err" || info.text("aof_last_bgrewrite_status") == "err" ||
        info.text("rdb_last_bgsave_status") == "err")
        found.push_back({problem, "cannot write its data to disk", "see its log; is the disk full?"});
    if (info.number("aof_enabled") == 0) return;
    const std::string& fsync = seen.appendfsync;
    if (fsync.empty()) {
        found.push_back({note, "appendfsync cannot be seen without the right +config|get",
                         "make sure that it is 'always', or that a lost second does no harm"});
    } else if (fsync == "always") {
        found.push_back({good, "a lock is on disk before it is answered (appendfsync always)", {}});
    } else {
        found.push_back({fsync == "everysec" ? note : warning,
                         "appendfsync is " + fsync + ": a crash of the machine forgets the latest " +
                             (fsync == "everysec" ? "second" : "writes"),
                         "CONFIG SET appendfsync always, and the same in redis.conf"});
    }
}

void judge_replicas(const settings& config, const server_report& seen, std::vector<finding>& found) {
    const server_info& info = *seen.info;
    const std::int64_t replicas = info.number("connected_slaves");
    const std::string count = std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
    if (config.replicas > replicas)
        found.push_back({problem,
                         count + ", and wait=" + std::to_string(config.replicas) + " demands more: nothing is granted",
                         "start more replicas, or lower the option wait"});
    if (replicas == 0) {
        found.push_back({note, "no replicas: while it is down nobody gets a lock", {}});
    } else if (!info.has("min_slaves_good_slaves")) {
        found.push_back(
            {config.replicas > 0 ? good : note, count + "; a failover can forget a lock that none of them has received",
             config.replicas > 0 ? ""
                                 : "the option wait=1, and min-replicas-to-write 1 in redis.conf, make that rare"});
    } else {
        found.push_back({good, count + ", and no writes without them (min-replicas-to-write)", {}});
    }
}

// Of protocol=setnx.
void judge_notices(const server_report& seen, std::vector<finding>& found) {
    if (!seen.notices) {
        found.push_back({note,
                         "waiters poll: whether it tells of deleted keys cannot be seen without the right +config|get",
                         "give it, and +subscribe on &__keyspace@*, if waits are to end sooner"});
    } else if (tells_of_deletions(*seen.notices)) {
        found.push_back({good, "wakes those who wait (notify-keyspace-events " + *seen.notices + ")", {}});
    } else {
        found.push_back({note, "waiters poll: it does not tell of deleted keys",
                         "CONFIG SET notify-keyspace-events Kgx, and the same in redis.conf; clients see it when they "
                         "connect"});
    }
}

std::string in_redis_cli(const std::string& line) {
    return "in redis-cli: " + line;
}

void judge_rights(const settings& config, const server_report& seen, std::vector<finding>& found) {
    const std::string user = base::quoted(config.user.empty() ? "default" : config.user);
    const auto needed = needed_rights(config);
    const std::string remedy = in_redis_cli(acl_remedy(config));
    if (!seen.rights_unknown.empty()) {
        found.push_back({problem, "the user " + user + " may not ask what it may do: " + seen.rights_unknown, remedy});
        return;
    }
    std::vector<std::string> without;
    for (const std::size_t i : seen.denied)
        if (std::find(without.begin(), without.end(), needed[i].without) == without.end())
            without.push_back(needed[i].without);
    if (!seen.denied.empty())
        found.push_back(
            {may_lock(needed, seen.denied) ? warning : problem,
             "the user " + user + " lacks " + shown(config, needed, seen.denied) + "; without, no " + joined(without),
             remedy});
    else if (seen.may_flush)
        found.push_back({note,
                         "the user " + user + " may do more than locks need, such as FLUSHALL, which ends them all",
                         "a user of its own; " + in_redis_cli(acl_of_a_new_user(config))});
    else
        found.push_back({good, "the user " + user + " has the rights it needs", {}});
}

void judge_clock(const server_report& seen, std::vector<finding>& found) {
    if (seen.set_back && seen.set_back->ahead >= clocks_may_differ)
        found.push_back(
            {warning,
             "its clock was set back: the lock " + base::quoted(seen.set_back->name) +
                 " was last granted or renewed at a time that is " + base::readable(seen.set_back->ahead) +
                 " ahead of it",
             "let NTP slew it, and never step it; until it has caught up a dead holder's lock may stay taken "
             "for a lease longer"});
    if (!seen.clock_ahead) return;
    const bool ahead = *seen.clock_ahead > microseconds::zero();
    const microseconds off = std::chrono::abs(*seen.clock_ahead);
    if (off < clocks_may_differ) {
        found.push_back({good, "its clock is within " + base::readable(clocks_may_differ) + " of ours", {}});
    } else {
        found.push_back({note, "its clock is " + base::readable(off) + (ahead ? " ahead of ours" : " behind ours"),
                         "leases run on its clock and tokens come from it: let NTP keep it, and never step it"});
    }
}

std::string remedy_of(const settings& config, const trouble& why) {
    if (why.helps == trouble::remedy::rights) return in_redis_cli(acl_remedy(config));
    if (why.hopeless || why.helps == trouble::remedy::told) return {};
    return "is it running, and is the address right? its log may say more";
}

bool loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

std::vector<finding> diagnose(const settings& config, const server_report& seen) {
    std::vector<finding> found;
    if (seen.kept_out) return {{problem, seen.kept_out->what, remedy_of(config, *seen.kept_out)}};
    const std::string latency =
        "answers within " + base::readable(seen.latency) + " (median of " + std::to_string(probes) + ")";
    if (seen.info) {
        found.push_back({good,
                         "Redis " + std::string(seen.info->text("redis_version")) + ", " +
                             std::string(seen.info->text("role")) + ", " + latency,
                         {}});
        if (auto flaw = eviction(*seen.info))
            found.push_back(*std::move(flaw));
        else
            found.push_back({good, "throws no locks away when memory runs short", {}});
        judge_disk(seen, found);
        judge_replicas(config, seen, found);
    } else {
        found.push_back({good, latency, {}});
        found.push_back({note, "version, memory, disk and replicas cannot be seen without the right +info", {}});
    }
    judge_clock(seen, found);
    if (config.protocol == settings::layout::setnx) judge_notices(seen, found);
    judge_rights(config, seen, found);
    if (!seen.takes_no_claims.empty()) found.push_back({problem, "grants nothing: " + seen.takes_no_claims, {}});
    if (!config.tls.on && !config.password.empty() && !loopback(seen.where.substr(0, seen.where.rfind(':'))))
        found.push_back({warning, "the password travels unencrypted", "write rediss:// or tls=1"});
    for (finding& one : found) one.what = seen.where + ": " + one.what;
    return found;
}

// ---- asking the servers

namespace {

// Asks one server, command by command. Runs on the reading thread, or on the one that begins.
class server_probe : public std::enable_shared_from_this<server_probe> {
public:
    server_probe(const settings& config, std::shared_ptr<connection> to, spi::clock& clock,
                 unique_function<void(server_report)> done)
        : settings_(config), to_(std::move(to)), clock_(clock), done_(std::move(done)) {}

    void begin() { probe(); }

private:
    void probe() {
        const spi::time_point sent = clock_.now();
        ask({"TIME"}, [this, sent](const reply& answer) {
            if (answer.failure()) return fail(answer);
            took_.push_back(clock_.now() - sent);
            if (took_.size() < probes) return probe();
            std::nth_element(took_.begin(), took_.begin() + probes / 2, took_.end());
            seen_.latency = took_[probes / 2];
            info();
        });
    }
    void info() {
        ask({"INFO"}, [this](const reply& answer) {
            if (answer.is == reply::kind::text) seen_.info = server_info::of(answer.text);
            time();
        });
    }
    void time() {
        const auto before = std::chrono::system_clock::now();
        ask({"TIME"}, [this, before](const reply& answer) {
            const auto after = std::chrono::system_clock::now();
            if (answer.items.size() == 2) {
                const server_info parts = server_info::of("s:" + std::string(answer.items[0].text) +
                                                          "\nus:" + std::string(answer.items[1].text));
                const microseconds theirs =
                    base::told_span<seconds>(parts.number("s")) + base::told_span<microseconds>(parts.number("us"));
                const auto ours = before + (after - before) / 2;
                seen_.clock_ahead = theirs - std::chrono::duration_cast<microseconds>(ours.time_since_epoch());
            }
            settings_.protocol == settings::layout::native ? scan("0") : ask_appendfsync();
        });
    }
    // Page by page, and the keys of a page one by one. A missing right to scan is reported with the rights.
    void scan(std::string_view cursor) {
        ask({"SCAN", cursor, "MATCH", pattern_of(settings_.prefix), "COUNT", "1000", "TYPE", "hash"},
            [this](const reply& answer) {
                if (answer.items.size() != 2) return ask_appendfsync();
                keys_.clear();
                for (const reply& key : answer.items[1].items) keys_.emplace_back(key.text);
                compare(answer.items[0].text == "0" ? "" : std::string(answer.items[0].text));
            });
    }
    void compare(std::string next_page) {
        if (compared_ == looked_at) return ask_appendfsync();
        if (keys_.empty()) return next_page.empty() || ++pages_ == most_pages ? ask_appendfsync() : scan(next_page);
        const std::string key = std::move(keys_.back());
        keys_.pop_back();
        ++compared_;
        run(to_, clock_ahead_call(key), [self = shared_from_this(), key, next_page](const reply& answer) {
            const microseconds ahead{answer.is == reply::kind::integer ? answer.number : 0};
            auto name = name_of(self->settings_.prefix, key);
            auto& most = self->seen_.set_back;
            if (name && ahead > microseconds::zero() && (!most || most->ahead < ahead))
                most = {.name = std::move(*name), .ahead = ahead};
            self->compare(next_page);
        });
    }
    void ask_appendfsync() {
        ask({"CONFIG", "GET", "appendfsync"}, [this](const reply& answer) {
            seen_.appendfsync = answer.at("appendfsync").text;
            settings_.protocol == settings::layout::setnx ? ask_notices() : rights();
        });
    }
    void ask_notices() {
        ask({"CONFIG", "GET", "notify-keyspace-events"}, [this](const reply& answer) {
            if (!answer.error() && !answer.failure()) seen_.notices = answer.at("notify-keyspace-events").text;
            rights();
        });
    }
    void rights() {
        std::vector<right> asked = needed_rights(settings_);
        const std::size_t flush = asked.size();
        asked.push_back({"+flushall", {}, {"FLUSHALL"}});
        run(to_, rights_call(asked), [self = shared_from_this(), flush](const reply& answer) {
            server_report& seen = self->seen_;
            if (answer.failure()) return self->fail(answer);
            if (answer.error()) seen.rights_unknown = read_error(answer).what;
            seen.denied = read_denied(answer, flush);
            seen.may_flush = read_denied(answer, flush + 1).size() == seen.denied.size();
            const bool may = may_lock(needed_rights(self->settings_), seen.denied);
            if (answer.error() || !may) return self->finish();
            self->claim();
        });
    }
    void claim() {
        to_->send(claim_in_vain().by_source(), [self = shared_from_this()](const reply& answer) {
            if (answer.failure()) return self->fail(answer);
            self->seen_.takes_no_claims = read_why_not(answer);
            self->finish();
        });
    }

    void fail(const reply& answer) {
        error_reply why = read_error(answer);
        seen_.kept_out = trouble{.what = std::move(why.what), .hopeless = !why.passing, .helps = why.helps};
        finish();
    }
    void finish() {
        seen_.where = to_->where().shown();
        done_(std::move(seen_));
    }
    template <class Then>
    void ask(std::initializer_list<std::string_view> words, Then then) {
        std::string bytes;
        append(bytes, words);
        to_->send(bytes, [self = shared_from_this(), then = std::move(then)](const reply& answer) { then(answer); });
    }

    const settings settings_;
    const std::shared_ptr<connection> to_;
    spi::clock& clock_;
    unique_function<void(server_report)> done_;
    server_report seen_;
    std::vector<std::chrono::nanoseconds> took_;
    std::vector<std::string> keys_;  // to compare
    std::size_t compared_ = 0;
    std::size_t pages_ = 0;
};

// All servers. The configured ones are connected to first, and name the others.
class diagnostics_run : public std::enable_shared_from_this<diagnostics_run> {
public:
    diagnostics_run(const settings& config, std::shared_ptr<router> servers, spi::clock& clock,
                    spi::reply<std::vector<finding>> done)
        : settings_(config), servers_(std::move(servers)), clock_(clock), done_(std::move(done)) {}

    void begin() {
        const auto known = servers_->masters();
        open_ = known.size() + 1;
        for (const auto& one : known) meet(one, 2);  // the second is answered after what the router asks on connecting
        met();
    }

private:
    void meet(const std::shared_ptr<connection>& one, int times) {
        if (times == 0) return met();
        one->send("*1\r\n$4\r\nTIME\r\n", [self = shared_from_this(), one, times](const reply& answer) {
            self->meet(one, answer.failure() ? 0 : times - 1);
        });
    }
    void met() {
        if (--open_ > 0) return;
        const auto all = servers_->masters();
        seen_.resize(all.size());
        open_ = all.size() + 1;
        for (std::size_t i = 0; i < all.size(); ++i)
            std::make_shared<server_probe>(settings_, all[i], clock_,
                                           [self = shared_from_this(), i](server_report seen) {
                                               self->seen_[i] = std::move(seen);
                                               self->probed();
                                           })
                ->begin();
        probed();
    }
    void probed() {
        if (--open_ > 0) return;
        std::vector<finding> found;
        for (const server_report& one : seen_)
            for (finding& each : diagnose(settings_, one)) found.push_back(std::move(each));
        if (seen_.empty()) found.push_back({problem, "no server is known", "see the address"});
        done_(std::move(found));
    }

    const settings settings_;
    const std::shared_ptr<router> servers_;
    spi::clock& clock_;
    spi::reply<std::vector<finding>> done_;
    std::atomic<std::size_t> open_{0};
    std::vector<server_report> seen_;
};

}  // namespace

void diagnose_servers(const settings& config, std::shared_ptr<router> servers, spi::clock& clock,
                      spi::reply<std::vector<finding>> done) {
    std::make_shared<diagnostics_run>(config, std::move(servers), clock, std::move(done))->begin();
}

}  // namespace mortise::inline v0::stores::redis
