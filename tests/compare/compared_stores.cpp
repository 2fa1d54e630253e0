#include "compare/compared_stores.hpp"

#include "checker/faults/tcp_proxy.hpp"
#include "stores/etcd/servers/cluster.hpp"
#include "stores/mysql/servers/server.hpp"
#include "stores/postgres/servers/server.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "stores/zookeeper/servers/ensemble.hpp"
#include "support/server_group.hpp"

#include <fstream>
#include <map>

#include <sys/stat.h>

namespace mortise::compare {
namespace {

namespace stores = mortise::stores;

// The tests' servers do not wait for the disk.
const std::vector<std::string> etcd_on_disk{"--unsafe-no-fsync=false"};
const std::vector<std::string> mariadb_on_disk{"--innodb-flush-method=fsync"};

// A busy machine makes figures worse, and no more.
const std::string patient = "timeout=20s";

}  // namespace

struct compared_stores::parts {
    testing::server_group files;
    stores::redis::servers::single redis;
    stores::redlock::servers::nodes five{5};
    stores::etcd::servers::cluster etcd{1, etcd_on_disk};
    stores::zookeeper::servers::ensemble zookeeper;
    stores::mysql::servers::server mariadb{mariadb_on_disk};
    stores::postgres::servers::server postgres;
    std::map<std::uint16_t, std::unique_ptr<testing::tcp_proxy>> proxies{};
    std::string password = files / "password";
    int databases = 0;
    int schemas = 0;
    int roots = 0;

    parts() {
        std::ofstream{password} << "secret\n";
        ::chmod(password.c_str(), 0600);
    }

    // Where a client finds the server on that port, with `trip` for the way there and back.
    std::string at(std::uint16_t port, std::chrono::nanoseconds trip) {
        if (trip == trip.zero()) return "127.0.0.1:" + std::to_string(port);
        auto& proxy = proxies[port];
        if (!proxy) proxy = std::make_unique<testing::tcp_proxy>(port);
        for (const testing::way which : {testing::way::to_server, testing::way::to_client})
            proxy->delay(which, trip / 2);
        return "127.0.0.1:" + std::to_string(proxy->port());
    }

    std::string redlock_at(std::chrono::nanoseconds trip) {
        std::string hosts;
        for (std::size_t i = 0; i < five.size(); ++i) hosts += (i > 0 ? "," : "") + at(five[i].port(), trip);
        return "redlock://" + hosts + "?node_timeout=20s&" + patient;
    }

    std::string database() {
        const std::string name = "t" + std::to_string(++databases) + "_compare";
        mariadb.run("CREATE DATABASE " + name);
        return name;
    }
    std::string mariadb_at(const std::string& where, const std::string& name, const std::string& options) const {
        return "mysql://mortise@" + where + "/" + name + "?password_file=" + password + options;
    }
    std::string postgres_at(const std::string& where, const std::string& options) {
        return "postgres://postgres@" + where + "/postgres?password_file=" + password + options + "&schema=c" +
               std::to_string(++schemas);
    }
};

compared_stores::compared_stores() : parts_(std::make_unique<parts>()) {}
compared_stores::~compared_stores() = default;

std::vector<compared_stores::store> compared_stores::all(std::chrono::nanoseconds trip) {
    parts& p = *parts_;
    const std::string mariadb = p.at(p.mariadb.port(), trip);
    const std::string postgres = p.at(p.postgres.port(), trip);
    std::vector<store> all{
        {"Redis", "redis://" + p.at(p.redis.node().port(), trip) + "?" + patient},
        {"Redlock, 5 servers", p.redlock_at(trip)},
        {"etcd", "etcd://" + p.at(p.etcd.member(0).port(), trip) + "?" + patient},
        {"ZooKeeper", "zookeeper://" + p.at(p.zookeeper[0].port(), trip) + "/compare" + std::to_string(++p.roots)},
        {"MariaDB, `row`", p.mariadb_at(mariadb, p.database(), "")},
        {"MariaDB, `get_lock`", p.mariadb_at(mariadb, p.database(), "&strategy=get_lock")},
        {"MariaDB, `for_update`", p.mariadb_at(mariadb, p.database(), "&strategy=for_update")},
        {"PostgreSQL, `row`", p.postgres_at(postgres, "")},
        {"PostgreSQL, `advisory`", p.postgres_at(postgres, "&strategy=advisory")},
    };
    if (trip == trip.zero()) {
        all.push_back({"`host:`", "host:" + (p.files / "host")});
        all.push_back({"`memory:`", "memory:"});
    }
    return all;
}

std::vector<compared_stores::store> compared_stores::one_and_five(std::chrono::nanoseconds trip) {
    return {{"one server, `protocol=setnx`",
             "redis://" + parts_->at(parts_->five[0].port(), trip) + "?protocol=setnx&" + patient},
            {"Redlock, 5 servers", parts_->redlock_at(trip)}};
}

std::uint16_t compared_stores::mariadb_port() const {
    return parts_->mariadb.port();
}
std::string compared_stores::mariadb(const std::string& statements, const std::string& database) const {
    return parts_->mariadb.run(statements, database);
}
int compared_stores::mariadb_process() const {
    int pid = 0;
    std::ifstream{parts_->mariadb.home() / "pid"} >> pid;
    return pid;
}
std::string compared_stores::fresh_database() {
    return parts_->database();
}
std::string compared_stores::mariadb_url(const std::string& database, const std::string& options) const {
    return parts_->mariadb_at("127.0.0.1:" + std::to_string(mariadb_port()), database, options);
}

}  // namespace mortise::compare
