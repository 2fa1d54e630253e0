#include "stores/etcd/raw.hpp"

#include "base/limits.hpp"
#include "rpc.pb.h"
#include "stores/etcd/members.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/plain_page.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

namespace mortise::inline v0::stores::etcd {
namespace {

using mortise_etcd::txn_request;

// A connection of its own, and a caller that waits for each answer.
class bare_cluster {
public:
    explicit bare_cluster(const settings& how) : how_(how), members_(members::of(how)) {}
    ~bare_cluster() { members_->close(); }
    bare_cluster(const bare_cluster&) = delete;
    bare_cluster& operator=(const bare_cluster&) = delete;

    std::string ask(const char* what, const std::string& request) {
        struct waiting {
            std::mutex mutex;
            std::condition_variable come;
            std::optional<outcome> said;
            std::string bytes;
        };
        const auto mine = std::make_shared<waiting>();
        members_->ask(what, request, how_.timeout, [mine](const outcome& said, const std::string& bytes) {
            std::scoped_lock guard{mine->mutex};
            mine->said = said;
            mine->bytes = bytes;
            mine->come.notify_one();
        });
        std::unique_lock held{mine->mutex};
        mine->come.wait(held, [&] { return mine->said.has_value(); });
        if (!mine->said->ok()) throw error(mine->said->reason, mine->said->detail);
        return mine->bytes;
    }
    mortise_etcd::txn_response ask(const txn_request& what) {
        mortise_etcd::txn_response said;
        static_cast<void>(said.ParseFromString(ask(method::txn, what.SerializeAsString())));
        return said;
    }
    members& line() { return *members_; }

private:
    const settings how_;
    const std::shared_ptr<members> members_;
};

std::string folder_of(const settings& how, const std::string& place) {
    return how.prefix + "/%raw/" + place + "/";
}

// A bare Put and a bare DeleteRange, of a key and a value as long as ours.
class put_end final : public raw_end {
public:
    put_end(const settings& how, const std::string& place) : cluster_(how) {
        const std::string key = folder_of(how, place) + claim_id::random().hex();
        mortise_etcd::put_request put;
        put.set_key(key);
        put.set_value(entry{.host = "bench", .label = place}.value());
        put_ = put.SerializeAsString();
        remove_ = remove_request(key);
    }
    void lock() override { cluster_.ask(method::put, put_); }
    void unlock() override { cluster_.ask(method::remove, remove_); }

private:
    bare_cluster cluster_;
    std::string put_;
    std::string remove_;
};

void put(txn_request& into, const std::string& key) {
    into.add_success()->mutable_put()->set_key(key);
}
void remove(txn_request& from, const std::string& key) {
    from.add_success()->mutable_remove()->set_key(key);
}
void unless_there(txn_request& all, const std::string& key) {
    auto& one = *all.add_compare();
    one.set_key(key);
    one.set_target(1);
    one.set_create_revision(0);
}

// A key that one deletes and the other watches. While the key of a side is there, it is the other's turn.
class watch_end final : public raw_end {
public:
    watch_end(const settings& how, const std::string& place, unsigned side)
        : cluster_(how),
          mine_(folder_of(how, place) + std::to_string(side)),
          theirs_(folder_of(how, place) + std::to_string(1 - side)) {
        txn_request begin;
        remove(begin, mine_ + ".gone");
        if (side == 1) {
            unless_there(begin, theirs_);  // else the first turn is over
            unless_there(begin, theirs_ + ".gone");
            put(begin, mine_);
        }
        const auto said = cluster_.ask(begin);
        if (side == 0 || !said.succeeded()) turns_ = 1;
        mortise_etcd::watch_request all;
        all.mutable_create()->set_key(mine_);
        all.mutable_create()->set_start_revision(said.header().revision() + 1);
        all.mutable_create()->add_filters(0);
        stream_ = cluster_.line().open(method::watch, {.heard = [this](const std::string& message) { heard(message); },
                                                       .ended = [this](const outcome&) { broken(); }});
        stream_->say(all.SerializeAsString());
    }
    ~watch_end() override {
        stream_->stop();
        try {
            txn_request end;
            put(end, mine_ + ".gone");
            remove(end, theirs_);
            cluster_.ask(end);
        } catch (const error&) {  // then the other side waits in vain, and is told by its own connection
        }
    }

    void lock() override {
        std::unique_lock held{mutex_};
        come_.wait(held, [&] { return turns_ > 0 || broken_; });
        if (turns_ == 0) throw error(errc::unreachable, "the watch of a bare push has ended");
        --turns_;
    }
    void unlock() override {
        txn_request pass;
        unless_there(pass, theirs_ + ".gone");
        put(pass, mine_);
        remove(pass, theirs_);
        if (cluster_.ask(pass).succeeded()) return;
        std::scoped_lock guard{mutex_};
        ++turns_;
    }

private:
    void heard(const std::string& message) {
        mortise_etcd::watch_response said;
        if (!said.ParseFromString(message)) return;
        std::scoped_lock guard{mutex_};
        for (const auto& one : said.events())
            if (one.type() == 1) ++turns_;
        come_.notify_one();
    }
    void broken() {
        std::scoped_lock guard{mutex_};
        broken_ = true;
        come_.notify_one();
    }

    bare_cluster cluster_;
    const std::string mine_;
    const std::string theirs_;
    std::mutex mutex_;
    std::condition_variable come_;
    int turns_ = 0;
    bool broken_ = false;
    std::shared_ptr<stream> stream_;
};

void clear_place(const settings& how, const std::string& place) {
    try {
        mortise_etcd::delete_request all;
        all.set_key(folder_of(how, place));
        all.set_range_end(end_of(folder_of(how, place)));
        bare_cluster{how}.ask(method::remove, all.SerializeAsString());
    } catch (const error&) {  // never throws: it was only to be tidy
    }
}

// The sum of a metric over all its labels.
double sum_of(const std::string& metrics, const std::string& name) {
    double sum = 0;
    std::istringstream lines{metrics};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name) && (line[name.size()] == '{' || line[name.size()] == ' '))
            sum += std::strtod(line.c_str() + line.rfind(' '), nullptr);
    return sum;
}

// What its members tell everybody who asks in plain text. Over TLS we do not ask.
store_usage usage_of(const settings& how) {
    if (how.tls.on) return {};
    std::uint64_t commands = 0;
    double processor = 0;
    double memory = 0;
    for (const std::string& each : how.endpoints) {
        const std::string said = plain_page(each, "/metrics");
        if (said.find("grpc_server_handled_total") == std::string::npos) return {};
        commands += static_cast<std::uint64_t>(sum_of(said, "grpc_server_handled_total"));
        processor += sum_of(said, "process_cpu_seconds_total");
        memory += sum_of(said, "process_resident_memory_bytes");
    }
    return {.commands = commands,
            .processor = std::chrono::nanoseconds{static_cast<std::int64_t>(processor * 1e9)},
            .memory = static_cast<std::uint64_t>(memory)};
}

}  // namespace

mortise::raw_limits bare_limits(const settings& how) {
    const auto clear = [how](const std::string& place) { clear_place(how, place); };
    return {.all = {{.name = "Put and DeleteRange",
                     .is = raw_limit::kind::trips,
                     .open =
                         [how](const std::string& place, unsigned) {
                             base::check_raw_place(place);
                             return std::make_unique<put_end>(how, place);
                         },
                     .clear = clear},
                    {.name = "DeleteRange to Watch",
                     .is = raw_limit::kind::turns,
                     .open =
                         [how](const std::string& place, unsigned side) {
                             base::check_raw_place(place);
                             return std::make_unique<watch_end>(how, place, side);
                         },
                     .clear = clear}},
            .usage = [how] { return usage_of(how); }};
}

}  // namespace mortise::inline v0::stores::etcd
