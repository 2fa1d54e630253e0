// TLS and users where the servers name each other: what a sentinel or a node of a cluster names is reached as it was itself.
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/starting.hpp"
#include "support/certificates.hpp"

#include <mortise/client.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using servers::canary;
using servers::complaint;
using servers::complaint_of;

class redis_over_tls_elsewhere : public ::testing::Test {
protected:
    std::unique_ptr<servers::server> start(servers::server::setup how) {
        for (const std::string& line :
             {"tls-cert-file " + files_.server.certificate, "tls-key-file " + files_.server.key,
              "tls-ca-cert-file " + files_.authority, std::string("tls-auth-clients optional"),
              std::string("user default off"), std::string("user admin on >admin ~* &* +@all"),
              std::string("user canary on >") + canary + " ~* &* +@all"})
            how.lines.insert(how.lines.begin(), line);
        how.tls = true;
        how.user = how.password = "admin";
        auto made = std::make_unique<servers::server>(home_, std::move(how));
        made->await_ready();
        return made;
    }
    std::string options() const { return "?tls=1&ca=" + files_.authority; }
    std::string as_canary() const { return std::string("canary:") + canary + "@"; }

    void expect_locks_at(const std::string& url) {
        client one{url};
        client another{url};
        const hold mine = one.acquire("n");
        EXPECT_FALSE(another.try_acquire("n"));
        EXPECT_EQ(another.list().size(), 1u);
    }

    testing::server_group home_;
    const testing::certificates files_{home_.directory()};
};

TEST_F(redis_over_tls_elsewhere, a_cluster_is_entered_as_its_user) {
    std::unique_ptr<servers::server> node;
    servers::with_free_ports([&] {
        node = start({.name = "node",
                      .port = servers::free_port(),
                      .lines = {"cluster-enabled yes", "tls-cluster yes",
                                "cluster-port " + std::to_string(servers::free_port())}});
    });
    node->command({"cluster", "addslotsrange", "0", "16383"});
    servers::await([&] { return node->field({"cluster", "info"}, "cluster_state") == "ok"; }, "no cluster");

    expect_locks_at("redis+cluster://" + as_canary() + node->address() + options());
    const complaint heard =
        complaint_of("redis+cluster://admin:" + std::string(canary) + "@" + node->address() + options());
    EXPECT_EQ(heard.code, errc::denied) << heard.what;
    EXPECT_TRUE(heard.readable()) << heard.what;
}

TEST_F(redis_over_tls_elsewhere, sentinels_and_their_master_may_have_users_of_their_own) {
    std::unique_ptr<servers::server> master;
    std::unique_ptr<servers::server> sentinel;
    servers::with_free_ports([&] {
        master = start({.name = "master", .port = servers::free_port()});
        sentinel = start({.name = "sentinel",
                          .port = servers::free_port(),
                          .is_sentinel = true,
                          .lines = {"tls-replication yes",
                                    "sentinel monitor prime 127.0.0.1 " + std::to_string(master->port()) + " 1",
                                    "sentinel auth-user prime admin", "sentinel auth-pass prime admin"}});
    });
    const std::string secret = home_ / "secret";
    std::ofstream{secret} << "admin\n";
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
    const std::string place = sentinel->address() + "/prime" + options();
    const std::string watchers = "&sentinel_user=admin&sentinel_password_file=" + secret;

    expect_locks_at("redis+sentinel://" + as_canary() + place + watchers);
    const complaint heard = complaint_of("redis+sentinel://" + as_canary() + place);
    EXPECT_EQ(heard.code, errc::denied) << heard.what;
    EXPECT_TRUE(heard.readable()) << heard.what;
}

}  // namespace
}  // namespace mortise::stores::redis
