#include "lab/stage/servers.hpp"

#include "lab/stage/raw_redis.hpp"
#include "lab/story.hpp"
#include "stores/redis/servers/server.hpp"
#include "stores/redis/servers/starting.hpp"
#include "support/loopback.hpp"
#include "support/server_group.hpp"

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace lab {

namespace redis = mortise::stores::redis::servers;

namespace {

bool installed(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::string places = path ? path : "";
    for (std::size_t from = 0; from <= places.size();) {
        const std::size_t ends = std::min(places.find(':', from), places.size());
        if (std::filesystem::exists(places.substr(from, ends - from) + "/" + program)) return true;
        from = ends + 1;
    }
    return false;
}

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

    void need_redis(std::size_t count) {
        if (!installed("redis-server"))
            throw not_installed("redis-server is not installed; apt-get install redis-server");
        while (redis.size() < count)
            redis.push_back(std::make_unique<timed_redis>(home, "redis" + std::to_string(redis.size() + 1)));
        for (const auto& each : redis) {
            if (!each->server->running()) each->server->restart();
            each->ahead = {};
            each->time.set(time.now());
            each->server->command({"replicaof", "no", "one"});
            each->server->command({"flushall"});
        }
    }
};

servers::servers() : in_(std::make_unique<inside>()) {}
servers::~servers() = default;

scene servers::set(const story& next) {
    const std::size_t count = next.needs == needs::five_redis ? 5 : next.needs == needs::redis_with_replica ? 2 : 1;
    in_->need_redis(count);
    scene made{.time = &in_->time, .keys = next.keys};
    std::string hosts;
    for (std::size_t i = 0; i < count; ++i) {
        made.redis.push_back({"127.0.0.1", in_->redis[i]->server->port()});
        hosts += (i == 0 ? "" : ",") + in_->redis[i]->server->address();
    }
    made.store = next.needs == needs::five_redis ? "redlock://" + hosts + "?fenced=true"
                                                 : "redis://" + in_->redis[0]->server->address();
    return made;
}

void servers::set_time(std::chrono::nanoseconds since_1970) {
    in_->time.set(since_1970);
    for (const auto& each : in_->redis) each->time.set(since_1970 + each->ahead);
}

void servers::set_ahead(std::size_t server, std::chrono::nanoseconds by) {
    in_->redis.at(server)->ahead = by;
    set_time(in_->time.now());
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

void servers::kill(std::size_t server) {
    in_->redis.at(server)->server->kill();
}

}  // namespace lab
