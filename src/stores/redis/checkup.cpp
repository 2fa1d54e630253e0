#include "stores/redis/checkup.hpp"

#include "base/text.hpp"
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

// Locks whose latest grant is compared with the clock, at most. Any of them tells of a step since its grant.
constexpr std::size_t looked_at = 1000;
constexpr std::size_t most_pages = 100;  // of a database that has other keys too

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& one : words) all += (all.empty() ? "" : ", ") + one;
    return all;
}

void judge_disk(const examination& seen, std::vector<finding>& found) {
    const facts& told = *seen.info;
    if (auto flaw = forgetting(told)) found.push_back(*std::move(flaw));
    if (told.text("aof_last_write_status") == "err" || told.text("aof_last_bgrewrite_status") == "err" ||
        told.text("rdb_last_bgsave_status") == "err")
        found.push_back({problem, "cannot write its data to disk", "see its log; is the disk full?"});
    if (told.number("aof_enabled") == 0) return;
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

void judge_replicas(const settings& how, const examination& seen, std::vector<finding>& found) {
    const facts& told = *seen.info;
    const std::int64_t replicas = told.number("connected_slaves");
    const std::string count = std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
    if (how.replicas > replicas)
        found.push_back({problem,
                         count + ", and wait=" + std::to_string(how.replicas) + " demands more: nothing is granted",
                         "start more replicas, or lower the option wait"});
    if (replicas == 0) {
        found.push_back({note, "no replicas: while it is down nobody gets a lock", {}});
    } else if (!told.has("min_slaves_good_slaves")) {
        found.push_back(
            {how.replicas > 0 ? good : note, count + "; a failover can forget a lock that none of them has received",
             how.replicas > 0 ? "" : "the option wait=1, and min-replicas-to-write 1 in redis.conf, make that rare"});
    } else {
        found.push_back({good, count + ", and no writes without them (min-replicas-to-write)", {}});
    }
}

std::string in_redis_cli(const std::string& line) {
    return "in redis-cli: " + line;
}

void judge_rights(const settings& how, const examination& seen, std::vector<finding>& found) {
    const std::string user = base::quoted(how.user.empty() ? "default" : how.user);
    const auto needed = needed_rights(how);
    const std::string remedy = in_redis_cli(acl_remedy(how));
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
             "the user " + user + " lacks " + shown(how, needed, seen.denied) + "; without, no " + joined(without),
             remedy});
    else if (seen.may_flush)
        found.push_back({note,
                         "the user " + user + " may do more than locks need, such as FLUSHALL, which ends them all",
                         "a user of its own; " + in_redis_cli(acl_of_a_new_user(how))});
    else
        found.push_back({good, "the user " + user + " has the rights it needs", {}});
}

void judge_clock(const examination& seen, std::vector<finding>& found) {
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

std::string remedy_of(const settings& how, const trouble& why) {
    if (why.helps == trouble::remedy::rights) return in_redis_cli(acl_remedy(how));
    if (why.hopeless || why.helps == trouble::remedy::told) return {};
    return "is it running, and is the address right? its log may say more";
}

bool loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

std::vector<finding> judge(const settings& how, const examination& seen) {
    std::vector<finding> found;
    if (seen.kept_out) return {{problem, seen.kept_out->what, remedy_of(how, *seen.kept_out)}};
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
        judge_replicas(how, seen, found);
    } else {
        found.push_back({good, latency, {}});
        found.push_back({note, "version, memory, disk and replicas cannot be seen without the right +info", {}});
    }
    judge_clock(seen, found);
    judge_rights(how, seen, found);
    if (!seen.takes_no_claims.empty()) found.push_back({problem, "grants nothing: " + seen.takes_no_claims, {}});
    if (!how.tls.on && !how.password.empty() && !loopback(seen.where.substr(0, seen.where.rfind(':'))))
        found.push_back({warning, "the password travels unencrypted", "write rediss:// or tls=1"});
    for (finding& one : found) one.what = seen.where + ": " + one.what;
    return found;
}

// ---- asking

namespace {

// One server, question by question. Everything on the thread that reads, or the one that begins.
class visit : public std::enable_shared_from_this<visit> {
public:
    visit(const settings& how, std::shared_ptr<connection> to, spi::clock& clock,
          unique_function<void(examination)> done)
        : how_(how), to_(std::move(to)), clock_(clock), done_(std::move(done)) {}

    void begin() { probe(); }

private:
    void probe() {
        const spi::time_point sent = clock_.now();
        ask({"TIME"}, [this, sent](const reply& said) {
            if (said.failure()) return fail(said);
            took_.push_back(clock_.now() - sent);
            if (took_.size() < probes) return probe();
            std::nth_element(took_.begin(), took_.begin() + probes / 2, took_.end());
            seen_.latency = took_[probes / 2];
            info();
        });
    }
    void info() {
        ask({"INFO"}, [this](const reply& said) {
            if (said.is == reply::kind::text) seen_.info = facts::of(said.text);
            time();
        });
    }
    void time() {
        const auto before = std::chrono::system_clock::now();
        ask({"TIME"}, [this, before](const reply& said) {
            const auto after = std::chrono::system_clock::now();
            if (said.items.size() == 2) {
                const facts parts =
                    facts::of("s:" + std::string(said.items[0].text) + "\nus:" + std::string(said.items[1].text));
                const microseconds theirs = seconds{parts.number("s")} + microseconds{parts.number("us")};
                const auto ours = before + (after - before) / 2;
                seen_.clock_ahead = theirs - std::chrono::duration_cast<microseconds>(ours.time_since_epoch());
            }
            scan("0");
        });
    }
    // Page by page, and each key of a page in turn. Whoever may not scan is told so with its rights.
    void scan(std::string_view cursor) {
        ask({"SCAN", cursor, "MATCH", pattern_of(how_.prefix), "COUNT", "1000", "TYPE", "hash"},
            [this](const reply& said) {
                if (said.items.size() != 2) return config();
                keys_.clear();
                for (const reply& key : said.items[1].items) keys_.emplace_back(key.text);
                compare(said.items[0].text == "0" ? "" : std::string(said.items[0].text));
            });
    }
    void compare(std::string next_page) {
        if (compared_ == looked_at) return config();
        if (keys_.empty()) return next_page.empty() || ++pages_ == most_pages ? config() : scan(next_page);
        const std::string key = std::move(keys_.back());
        keys_.pop_back();
        ++compared_;
        run(to_, clock_ahead_call(key), [self = shared_from_this(), key, next_page](const reply& said) {
            const microseconds ahead{said.is == reply::kind::integer ? said.number : 0};
            auto name = name_of(self->how_.prefix, key);
            auto& most = self->seen_.set_back;
            if (name && ahead > microseconds::zero() && (!most || most->ahead < ahead))
                most = {.name = std::move(*name), .ahead = ahead};
            self->compare(next_page);
        });
    }
    void config() {
        ask({"CONFIG", "GET", "appendfsync"}, [this](const reply& said) {
            seen_.appendfsync = said.at("appendfsync").text;
            rights();
        });
    }
    void rights() {
        std::vector<right> asked = needed_rights(how_);
        const std::size_t flush = asked.size();
        asked.push_back({"+flushall", {}, {"FLUSHALL"}});
        run(to_, rights_call(asked), [self = shared_from_this(), flush](const reply& said) {
            examination& seen = self->seen_;
            if (said.failure()) return self->fail(said);
            if (said.error()) seen.rights_unknown = read_error(said).what;
            seen.denied = read_denied(said, flush);
            seen.may_flush = read_denied(said, flush + 1).size() == seen.denied.size();
            const bool may = may_lock(needed_rights(self->how_), seen.denied);
            if (said.error() || !may) return self->finish();
            self->claim();
        });
    }
    void claim() {
        to_->send(claim_in_vain().by_source(), [self = shared_from_this()](const reply& said) {
            if (said.failure()) return self->fail(said);
            self->seen_.takes_no_claims = read_why_not(said);
            self->finish();
        });
    }

    void fail(const reply& said) {
        complaint why = read_error(said);
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
        to_->send(bytes, [self = shared_from_this(), then = std::move(then)](const reply& said) { then(said); });
    }

    const settings how_;
    const std::shared_ptr<connection> to_;
    spi::clock& clock_;
    unique_function<void(examination)> done_;
    examination seen_;
    std::vector<std::chrono::nanoseconds> took_;
    std::vector<std::string> keys_;  // to compare
    std::size_t compared_ = 0;
    std::size_t pages_ = 0;
};

// All servers. Those that are known at first are met, and then name the others.
class round : public std::enable_shared_from_this<round> {
public:
    round(const settings& how, std::shared_ptr<router> servers, spi::clock& clock,
          spi::reply<std::vector<finding>> done)
        : how_(how), servers_(std::move(servers)), clock_(clock), done_(std::move(done)) {}

    void begin() {
        const auto known = servers_->everywhere();
        open_ = known.size() + 1;
        for (const auto& one : known) meet(one, 2);  // the second is answered after what the router asks on connecting
        met();
    }

private:
    void meet(const std::shared_ptr<connection>& one, int times) {
        if (times == 0) return met();
        one->send("*1\r\n$4\r\nTIME\r\n", [self = shared_from_this(), one, times](const reply& said) {
            self->meet(one, said.failure() ? 0 : times - 1);
        });
    }
    void met() {
        if (--open_ > 0) return;
        const auto all = servers_->everywhere();
        seen_.resize(all.size());
        open_ = all.size() + 1;
        for (std::size_t i = 0; i < all.size(); ++i)
            std::make_shared<visit>(how_, all[i], clock_, [self = shared_from_this(), i](examination seen) {
                self->seen_[i] = std::move(seen);
                self->visited();
            })->begin();
        visited();
    }
    void visited() {
        if (--open_ > 0) return;
        std::vector<finding> found;
        for (const examination& one : seen_)
            for (finding& each : judge(how_, one)) found.push_back(std::move(each));
        if (seen_.empty()) found.push_back({problem, "no server is known", "see the address"});
        done_(std::move(found));
    }

    const settings how_;
    const std::shared_ptr<router> servers_;
    spi::clock& clock_;
    spi::reply<std::vector<finding>> done_;
    std::atomic<std::size_t> open_{0};
    std::vector<examination> seen_;
};

}  // namespace

void check_up(const settings& how, std::shared_ptr<router> servers, spi::clock& clock,
              spi::reply<std::vector<finding>> done) {
    std::make_shared<round>(how, std::move(servers), clock, std::move(done))->begin();
}

}  // namespace mortise::inline v0::stores::redis
