// A member that pings and says nothing else. Bytes are written by hand.
#include "support/loopback.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::socket_handle;

const std::string settings_of_member = "\0\0\0\x04\0\0\0\0\0"s;
const std::string settings_confirmed = "\0\0\0\x04\x01\0\0\0\0"s;
const std::string ping = "\0\0\x08\x06\0\0\0\0\0whatever"s;
const std::string answer = "\0\0\x08\x06\x01\0\0\0\0whatever"s;

class pinging_member {
public:
    void accept() {
        line_ = socket_handle{::accept(listener_.fd(), nullptr, nullptr)};
        const timeval patience{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(line_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    void say(std::string_view what) { ::send(line_.fd(), what.data(), what.size(), MSG_NOSIGNAL); }
    // All up to this; what came, if it does not come at all.
    std::string hear_until(std::string_view end) {
        std::string all;
        for (char c = 0; !all.ends_with(end) && ::recv(line_.fd(), &c, 1, 0) == 1;) all += c;
        return all;
    }
    std::string url() const { return "etcd://127.0.0.1:" + std::to_string(port_) + "?timeout=60s"; }

private:
    const std::uint16_t port_ = testing::free_port();
    const socket_handle listener_ = testing::listener_at(port_);
    socket_handle line_;
};

// The caller waits for an answer and asks nothing more meanwhile.
TEST(etcd_pings, are_answered_also_if_no_request_follows) {
    pinging_member member;
    client locks{member.url(), {.reply_timeout = 60s, .patience = 60s}};
    const std::jthread asks{
        [&](std::stop_token stop) { static_cast<void>(locks.try_acquire("n", {.wait = 60s, .stop = stop})); }};
    member.accept();
    member.say(settings_of_member);
    ASSERT_TRUE(member.hear_until(settings_confirmed).ends_with(settings_confirmed));
    for (int times = 0; times < 3; ++times) {
        member.say(ping);
        EXPECT_EQ(member.hear_until(answer), answer);
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
