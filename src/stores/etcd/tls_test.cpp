// A member that speaks TLS, and asks for certificates.
#include "stores/etcd/servers/server.hpp"
#include "support/loopback.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <cstdlib>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Two authorities, and a certificate of the first for the member and for a client.
constexpr const char* make_certificates = R"(
set -e
cd "$1"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; chmod 600 "$1.key"; }
for name in ca other; do
    key $name
    openssl req -x509 -new -key $name.key -subj "/CN=$name" -days 2 -out $name.pem
done
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' >extensions
for name in member client; do
    key $name
    openssl req -new -key $name.key -subj "/CN=$name" -out $name.csr
    openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out $name.pem
done
)";

class etcd_tls : public ::testing::Test {
protected:
    void SetUp() override {
        std::ofstream{home_ / "make"} << make_certificates;
        const std::string command =
            "sh " + (home_ / "make") + " " + home_.directory() + " >" + (home_ / "said") + " 2>&1";
        ASSERT_EQ(std::system(command.c_str()), 0);
        const auto file = [&](const char* name) { return home_ / name; };
        int starts = 0;
        testing::with_free_ports([&] {
            member_ = std::make_unique<servers::server>(
                home_,
                servers::server::setup{.name = "m" + std::to_string(++starts),
                                       .port = testing::free_port(),
                                       .peer_port = testing::free_port(),
                                       .more = {"--cert-file", file("member.pem"), "--key-file", file("member.key"),
                                                "--client-cert-auth", "--trusted-ca-file", file("ca.pem")},
                                       .tls = true,
                                       .options = "--cacert=" + file("ca.pem") + " --cert=" + file("client.pem") +
                                                  " --key=" + file("client.key")});
            member_->await_ready();
        });
    }
    std::string url(const std::string& options) const { return "etcds://" + member_->address() + "?" + options; }
    std::string with_key() const { return "&cert=" + (home_ / "client.pem") + "&key=" + (home_ / "client.key"); }

    static std::string complaint(const std::string& address) {
        try {
            static_cast<void>(client{address, {.patience = 2s}}.acquire("n", {.wait = 5s}));
        } catch (const error& e) {
            EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
            return e.what();
        }
        return "granted";
    }

    testing::server_group home_;
    std::unique_ptr<servers::server> member_;
};

TEST_F(etcd_tls, lets_in_who_shows_a_certificate_and_knows_the_authority) {
    client locks{url("ca=" + (home_ / "ca.pem") + with_key())};
    hold mine = locks.acquire("n", {.wait = 10s});
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_EQ(complaint(url("ca=" + (home_ / "ca.pem") + with_key() + "&server_name=localhost")), "granted");
}

TEST_F(etcd_tls, refuses_all_others_in_one_line) {
    EXPECT_THAT(complaint(url("ca=" + (home_ / "other.pem") + with_key())),
                HasSubstr("name the right file with the option ca"));
    EXPECT_THAT(complaint(url("ca=" + (home_ / "ca.pem") + with_key() + "&server_name=another.example")),
                HasSubstr("server_name"));
    EXPECT_THAT(complaint(url("ca=" + (home_ / "ca.pem"))),
                AllOf(HasSubstr(member_->address()), HasSubstr("asks for a certificate of ours")));
    EXPECT_THAT(complaint("etcd://" + member_->address()),
                AllOf(HasSubstr(member_->address()), HasSubstr("if it speaks TLS, write etcds://")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
