#include "lab/stage/servers.hpp"

#include "lab/stage/borrowed_redis.hpp"
#include "lab/stage/etcd.hpp"
#include "lab/stage/mariadb.hpp"
#include "lab/stage/raw_redis.hpp"
#include "lab/story.hpp"
#include "stores/redis/servers/server.hpp"
#include "stores/redis/servers/starting.hpp"
#include "support/loopback.hpp"
#include "support/server_group.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace lab {

namespace redis = mortise::stores::redis::servers;

namespace {

bool installed(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::string places = std::string(path ? path : "") + ":/usr/sbin";  // which is not in everybody's PATH
    for (std::size_t from = 0; from <= places.size();) {
        const std::size_t ends = std::min(places.find(':', from), places.size());
        const std::string file = places.substr(from, ends - from) + "/" + program;
        std::error_code unreadable;
        if (std::filesystem::is_regular_file(file, unreadable) && ::access(file.c_str(), X_OK) == 0) return true;
        from = ends + 1;
    }
    return false;
}

// Time may pass while a client's upkeep has no answer yet: that is no reason to give its connection up.
constexpr const char* patient = "timeout=3600s";

// Beside the program, where the build and the installation put it.
std::string shim() {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const auto& place : {here / "libmortise-lab-clock.so",
                              here / ".." / MORTISE_LIBRARY_DIRECTORY / "mortise/libmortise-lab-clock.so"})
        if (std::filesystem::exists(place)) return place;
    throw not_installed("libmortise-lab-clock.so is not beside mortise-lab; install it again");
}

}  // namespace

// One Redis and the clock that it sees.
struct timed_redis {
    stage_time time;
    std::chrono::nanoseconds ahead{};
    std::unique_ptr<redis::server> server{};

    timed_redis(const mortise::testing::server_group& home, const std::string& name) : time(home / (name + ".time")) {
        mortise::testing::with_free_ports([&] {
            server = std::make_unique<redis::server>(
                home, redis::server::setup{
                          .name = name,
                          .port = mortise::testing::free_port(),
                          .run_by = {"env", "LD_PRELOAD=" + shim(), "MORTISE_TEST_WALL=still=" + time.file()}});
            server->await_ready();
        });
    }
};

struct servers::inside {
    mortise::testing::server_group home{};
    stage_time time{home / "stage.time"};
    std::vector<std::unique_ptr<timed_redis>> redis{};
    std::unique_ptr<lab::mariadb> mariadb{};
    std::chrono::nanoseconds mariadb_began{};
    std::unique_ptr<lab::etcd> etcd{};
    std::unique_ptr<borrowed_redis> lent{};

    scene on_lent_redis(const story& next);
    scene on_redis(const story& next);
    scene on_mariadb(const story& next);
    scene on_etcd(const story& next);
    void need_redis(std::size_t count) {
        if (!installed("redis-server"))
            throw not_installed("redis-server is not installed; apt-get install redis-server");
        while (redis.size() < count)
            redis.push_back(std::make_unique<timed_redis>(home, "redis" + std::to_string(redis.size() + 1)));
        for (const auto& each : redis) {
            if (!each->server->running()) each->server->restart();
            each->ahead = {};
            each->time.set(time.now());
            each->server->command({"client", "unpause"});
            each->server->command({"replicaof", "no", "one"});
            each->server->command({"flushall"});
        }
    }
};

servers::servers() : in_(std::make_unique<inside>()) {}
servers::servers(std::unique_ptr<borrowed_redis> lent) : servers() {
    in_->lent = std::move(lent);
}
servers::~servers() = default;

namespace {

void fill_stock(const redis_address& where, int items) {
    if (items == 0) return;
    raw_redis stage_hand{where};
    stage_hand({"SET", "ticket", std::to_string(items)});
    stage_hand({"HSET", "fenced ticket", "left", std::to_string(items)});
}

}  // namespace

scene servers::inside::on_lent_redis(const story& next) {
    if (const std::string why = borrowed_redis::refusal(next); !why.empty())
        throw needs_own_server("not on a Redis of yours: " + why + "; leave out --store");
    lent->clear();
    fill_stock(lent->address(), next.stock);
    return {.redis = {lent->address()}, .store = lent->address().url(), .keys = next.keys};
}

scene servers::inside::on_redis(const story& next) {
    const std::size_t count = next.needs == needs::five_redis ? 5 : next.needs == needs::redis_with_replica ? 2 : 1;
    need_redis(count);
    scene made{.time = &time, .keys = next.keys};
    std::string hosts;
    for (std::size_t i = 0; i < count; ++i) {
        made.redis.push_back({.host = "127.0.0.1", .port = redis[i]->server->port()});
        hosts += (i == 0 ? "" : ",") + redis[i]->server->address();
    }
    const std::string options = next.options.empty() ? patient : next.options;
    made.store = next.needs == needs::five_redis ? "redlock://" + hosts + "?fenced=true&node_timeout=5s&" + options
                                                 : "redis://" + redis[0]->server->address() + "?" + options;
    fill_stock(made.redis[0], next.stock);
    return made;
}

scene servers::inside::on_mariadb(const story& next) {
    for (const char* program : {"mariadbd", "mariadb-install-db", "mariadb"})
        if (!installed(program))
            throw not_installed(std::string(program) +
                                " is not installed; apt-get install mariadb-server-core mariadb-client-core");
    if (!mariadb) {
        mariadb = start_mariadb(shim());
        mariadb_began = time.now();
    }
    mariadb->clear();
    mariadb->run(next.tables);
    if (next.stock > 0)
        mariadb->run("CREATE TABLE ticket(n INT) ENGINE=InnoDB; INSERT INTO ticket VALUES(" +
                     std::to_string(next.stock) + ")");
    return {.sql = mariadb->account_of(next.user),
            .options = std::string(patient) + (next.options.empty() ? "" : "&") + next.options,
            .time = &time,
            .keys = next.keys};
}

scene servers::inside::on_etcd(const story& next) {
    for (const auto& [program, package] : {std::pair{"etcd", "etcd-server"}, {"etcdctl", "etcd-client"}})
        if (!installed(program))
            throw not_installed(std::string(program) + " is not installed; apt-get install " + package);
    if (!etcd) etcd = start_etcd();
    etcd->clear();
    return {.store = "etcd://" + etcd->addresses(), .etcd = etcd->addresses(), .keys = next.keys};
}

scene servers::set(const story& next) {
    if (in_->lent) return in_->on_lent_redis(next);
    if (next.needs == needs::mariadb) return in_->on_mariadb(next);
    if (next.needs == needs::three_etcd) return in_->on_etcd(next);
    return in_->on_redis(next);
}

std::int64_t servers::stock_left(const story& now) {
    if (now.needs == needs::mariadb) return std::stoll(in_->mariadb->value("SELECT n FROM ticket"));
    raw_redis stage_hand{in_->lent ? in_->lent->address()
                                   : redis_address{.host = "127.0.0.1", .port = in_->redis.at(0)->server->port()}};
    const auto plain = std::stoll(stage_hand({"GET", "ticket"}).value_or("0"));
    const auto fenced = std::stoll(stage_hand({"HGET", "fenced ticket", "left"}).value_or("0"));
    return plain + fenced - now.stock;  // one of the two is used
}

void servers::admit(const std::string& actor, const scene& where) {
    if (where.sql) in_->mariadb->admit(actor);
}

void servers::forget(const std::string& actor) {
    if (in_->mariadb) in_->mariadb->await_departure(actor);
}

int servers::lock_waits() {
    return in_->mariadb ? in_->mariadb->lock_waits() : 0;
}

void servers::wait(std::chrono::nanoseconds by, const std::function<void(std::chrono::nanoseconds)>& meanwhile) {
    in_->lent->wait(by, meanwhile);
}

void servers::set_time(std::chrono::nanoseconds since_1970) {
    in_->time.set(since_1970);
    for (const auto& each : in_->redis) each->time.set(since_1970 + each->ahead);
    if (in_->mariadb) in_->mariadb->set_ahead(since_1970 - in_->mariadb_began);
}

void servers::set_ahead(std::size_t server, std::chrono::nanoseconds by) {
    in_->redis.at(server)->ahead = by;
    set_time(in_->time.now());
}

bool servers::lets_wait() {
    return in_->redis.at(0)->server->field({"info", "clients"}, "blocked_clients") != "0";
}

void servers::replicate() {
    auto& replica = *in_->redis.at(1)->server;
    replica.command({"replicaof", "127.0.0.1", std::to_string(in_->redis.at(0)->server->port())});
    redis::await(
        [&] {
            return replica.field({"info", "replication"}, "master_link_status") == "up";
        },
        "the replica does not find its master");
}

// It looks for a master where there is none.
void servers::cut_replica() {
    in_->redis.at(1)->server->command({"replicaof", "127.0.0.1", "1"});
}

void servers::promote_replica() {
    in_->redis.at(1)->server->command({"replicaof", "no", "one"});
}

void servers::replace_leader() {
    in_->etcd->replace_leader();
}

void servers::hold_writes() {
    in_->redis.at(0)->server->command({"client", "pause", "3600000", "write"});
}

// It first sees who has gone.
void servers::answer_writes() {
    in_->redis.at(0)->server->command({"ping"});
    in_->redis.at(0)->server->command({"client", "unpause"});
}

void servers::kill(std::size_t server) {
    in_->redis.at(server)->server->kill();
}

}  // namespace lab
