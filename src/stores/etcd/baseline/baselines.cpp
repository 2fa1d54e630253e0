#include "stores/etcd/baseline/baselines.hpp"

#include "stores/etcd/baseline/grpc_client.hpp"
#include "stores/etcd/baseline/http_get.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/error.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using rpc::txn_request;

rpc::txn_response answer_to(grpc_client& asks, const txn_request& what) {
    rpc::txn_response reply;
    static_cast<void>(decode(asks.ask(method::txn, encoded(what)), reply));
    return reply;
}

std::string folder_of(const settings& config, const std::string& place) {
    return config.prefix + "/%baseline/" + place + "/";
}

// One request that puts a key, and one DeleteRange.
class request_end final : public baseline_end {
public:
    request_end(const settings& config, const char* enters, std::string enter, const std::string& key)
        : cluster_(config), enters_(enters), enter_(std::move(enter)), remove_(remove_request(key)) {}
    void lock() override { cluster_.ask(enters_, enter_); }
    void unlock() override { cluster_.ask(method::remove, remove_); }

private:
    grpc_client cluster_;
    const char* const enters_;
    const std::string enter_;
    const std::string remove_;
};

claim_keys fresh_keys(const settings& config, const std::string& where) {
    const std::string folder = folder_of(config, where);
    return {folder, folder + claim_id::random().hex(), folder + "gone"};
}

std::string value_at(const std::string& where) {
    return stored_claim{.host = "bench", .label = where}.value();
}

// A Put of a key and a value as long as those of a claim.
std::unique_ptr<baseline_end> put_end_at(const settings& config, const std::string& where) {
    const claim_keys mine = fresh_keys(config, where);
    const rpc::put_request put{.key = mine.key, .value = value_at(where)};
    return std::make_unique<request_end>(config, method::put, encoded(put), mine.key);
}

// The transaction that a claim sends.
std::unique_ptr<baseline_end> claim_end_at(const settings& config, const std::string& where) {
    const claim_keys mine = fresh_keys(config, where);
    std::string enter = enter_request(mine, value_at(where), 0, entry_mode::anyhow);
    return std::make_unique<request_end>(config, method::txn, std::move(enter), mine.key);
}

// What the member that is asked knows of a key, without asking the others.
class read_end final : public baseline_end {
public:
    read_end(const settings& config, const std::string& place)
        : cluster_(config),
          read_(encoded(rpc::range_request{.key = folder_of(config, place), .of_this_member = true})) {}
    void lock() override { cluster_.ask(method::range, read_); }
    void unlock() override { lock(); }

private:
    grpc_client cluster_;
    const std::string read_;
};

void put(txn_request& into, const std::string& key) {
    into.success.emplace_back(rpc::put_request{.key = key});
}
void remove(txn_request& from, const std::string& key) {
    from.success.emplace_back(rpc::delete_request{.key = key});
}
void unless_there(txn_request& all, const std::string& key) {
    all.compares.push_back({.key = key});
}

// One side deletes a key that the other watches. While the key of a side exists, it is the other's turn.
class watch_end final : public baseline_end {
public:
    watch_end(const settings& config, const std::string& place, unsigned side)
        : cluster_(config),
          mine_(folder_of(config, place) + std::to_string(side)),
          theirs_(folder_of(config, place) + std::to_string(1 - side)) {
        txn_request begin;
        remove(begin, mine_ + ".gone");
        if (side == 1) {
            unless_there(begin, theirs_);  // else the first turn is over
            unless_there(begin, theirs_ + ".gone");
            put(begin, mine_);
        }
        const auto reply = answer_to(cluster_, begin);
        if (side == 0 || !reply.succeeded) turns_ = 1;
        cluster_.open(method::watch, encoded(rpc::watch_create{.key = mine_, .start_revision = reply.revision + 1}));
    }
    ~watch_end() override {
        try {
            txn_request end;
            put(end, mine_ + ".gone");
            remove(end, theirs_);
            answer_to(cluster_, end);
        } catch (const error&) {  // the other side waits until its own connection fails
        }
    }

    void lock() override {
        while (turns_ == 0) {
            rpc::watch_response reply;
            if (!decode(cluster_.next_message(), reply)) continue;
            for (const rpc::event& one : reply.events)
                if (one.deleted) ++turns_;
        }
        --turns_;
    }
    void unlock() override {
        txn_request pass;
        unless_there(pass, theirs_ + ".gone");
        put(pass, mine_);
        remove(pass, theirs_);
        if (!answer_to(cluster_, pass).succeeded) ++turns_;
    }

private:
    grpc_client cluster_;
    const std::string mine_;
    const std::string theirs_;
    int turns_ = 0;
};

void clear_place(const settings& config, const std::string& place) {
    try {
        const std::string all = folder_of(config, place);
        grpc_client{config}.ask(method::remove, encoded(rpc::delete_request{.key = all, .range_end = end_of(all)}));
    } catch (const error&) {  // the keys can be removed by hand
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

// The sums over all members, which publish them over plain HTTP. Not read over TLS.
store_usage usage_of(const settings& config) {
    if (config.tls.on) return {};
    std::uint64_t commands = 0;
    double processor = 0;
    double memory = 0;
    for (const std::string& each : config.endpoints) {
        const std::string metrics = http_get(each, "/metrics");
        if (metrics.find("grpc_server_handled_total") == std::string::npos) return {};
        commands += static_cast<std::uint64_t>(sum_of(metrics, "grpc_server_handled_total"));
        processor += sum_of(metrics, "process_cpu_seconds_total");
        memory += sum_of(metrics, "process_resident_memory_bytes");
    }
    return {.commands = commands,
            .processor = std::chrono::nanoseconds{static_cast<std::int64_t>(processor * 1e9)},
            .memory = static_cast<std::uint64_t>(memory)};
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const settings config = settings::of(address);
    const auto clear = [config](const std::string& place) { clear_place(config, place); };
    return {.all = {{.name = "Put and DeleteRange",
                     .is = baseline::kind::round_trip,
                     .open =
                         [config](const std::string& place, unsigned) {
                             check_baseline_place(place);
                             return put_end_at(config, place);
                         },
                     .clear = clear},
                    {.name = "claim's Txn and DeleteRange",
                     .is = baseline::kind::round_trip,
                     .open =
                         [config](const std::string& place, unsigned) {
                             check_baseline_place(place);
                             return claim_end_at(config, place);
                         },
                     .clear = clear},
                    {.name = "Range, serializable",
                     .is = baseline::kind::trip,
                     .open =
                         [config](const std::string& place, unsigned) {
                             check_baseline_place(place);
                             return std::make_unique<read_end>(config, place);
                         },
                     .clear = clear},
                    {.name = "Watch ping-pong",
                     .is = baseline::kind::ping_pong,
                     .open =
                         [config](const std::string& place, unsigned side) {
                             check_baseline_place(place);
                             return std::make_unique<watch_end>(config, place, side);
                         },
                     .clear = clear}},
            .usage = [config] { return usage_of(config); }};
}

}  // namespace mortise::inline v0::stores::etcd
