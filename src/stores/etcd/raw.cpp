#include "stores/etcd/raw.hpp"

#include "base/limits.hpp"
#include "stores/etcd/bare_client.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/plain_page.hpp"
#include "stores/etcd/requests.hpp"

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

rpc::txn_response answer_to(bare_client& asks, const txn_request& what) {
    rpc::txn_response said;
    static_cast<void>(decode(asks.ask(method::txn, encoded(what)), said));
    return said;
}

std::string folder_of(const settings& how, const std::string& place) {
    return how.prefix + "/%raw/" + place + "/";
}

// A request that puts a key, and a bare DeleteRange.
class trips_end final : public raw_end {
public:
    trips_end(const settings& how, const char* enters, std::string enter, const std::string& key)
        : cluster_(how), enters_(enters), enter_(std::move(enter)), remove_(remove_request(key)) {}
    void lock() override { cluster_.ask(enters_, enter_); }
    void unlock() override { cluster_.ask(method::remove, remove_); }

private:
    bare_client cluster_;
    const char* const enters_;
    const std::string enter_;
    const std::string remove_;
};

place fresh_place(const settings& how, const std::string& where) {
    const std::string folder = folder_of(how, where);
    return {folder, folder + claim_id::random().hex(), folder + "gone"};
}

std::string value_at(const std::string& where) {
    return entry{.host = "bench", .label = where}.value();
}

// Of a key and a value as long as ours.
std::unique_ptr<raw_end> bare_put(const settings& how, const std::string& where) {
    const place mine = fresh_place(how, where);
    const rpc::put_request put{.key = mine.key, .value = value_at(where)};
    return std::make_unique<trips_end>(how, method::put, encoded(put), mine.key);
}

// The transaction that a claim is.
std::unique_ptr<raw_end> bare_claim(const settings& how, const std::string& where) {
    const place mine = fresh_place(how, where);
    std::string enter = enter_request(mine, value_at(where), 0, entering::anyhow);
    return std::make_unique<trips_end>(how, method::txn, std::move(enter), mine.key);
}

void put(txn_request& into, const std::string& key) {
    into.success.emplace_back(rpc::put_request{.key = key});
}
void remove(txn_request& from, const std::string& key) {
    from.success.emplace_back(rpc::delete_request{.key = key});
}
void unless_there(txn_request& all, const std::string& key) {
    all.compares.push_back({.key = key});
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
        const auto said = answer_to(cluster_, begin);
        if (side == 0 || !said.succeeded) turns_ = 1;
        cluster_.open(method::watch, encoded(rpc::watch_create{.key = mine_, .start_revision = said.revision + 1}));
    }
    ~watch_end() override {
        try {
            txn_request end;
            put(end, mine_ + ".gone");
            remove(end, theirs_);
            answer_to(cluster_, end);
        } catch (const error&) {  // then the other side waits in vain, and is told by its own connection
        }
    }

    void lock() override {
        while (turns_ == 0) {
            rpc::watch_response said;
            if (!decode(cluster_.next_message(), said)) continue;
            for (const rpc::event& one : said.events)
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
    bare_client cluster_;
    const std::string mine_;
    const std::string theirs_;
    int turns_ = 0;
};

void clear_place(const settings& how, const std::string& place) {
    try {
        const std::string all = folder_of(how, place);
        bare_client{how}.ask(method::remove, encoded(rpc::delete_request{.key = all, .range_end = end_of(all)}));
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
                             return bare_put(how, place);
                         },
                     .clear = clear},
                    {.name = "claim's Txn and DeleteRange",
                     .is = raw_limit::kind::trips,
                     .open =
                         [how](const std::string& place, unsigned) {
                             base::check_raw_place(place);
                             return bare_claim(how, place);
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
