#include "tools/mortise/metrics.hpp"

#include "program.hpp"
#include "support/loopback.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

namespace command {
namespace {

using ::mortise::event;
using ::mortise::event_kind;
using ::mortise::testing::free_port;
using ::mortise::testing::loopback;
using ::mortise::testing::socket_handle;
using ::mortise::testing::tcp_socket;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(metrics, count_what_happens) {
    metrics counts;
    for (const auto& [kind, took] : {std::pair{event_kind::claimed, 0ms},
                                     {event_kind::waited, 0ms},
                                     {event_kind::granted, 50ms},
                                     {event_kind::renewed, 1500ms},
                                     {event_kind::claimed, 0ms},
                                     {event_kind::refused, 2000ms},
                                     {event_kind::lost, 0ms}})
        counts.on_event({.kind = kind, .name = "a\"b", .took = took});
    const std::string page = counts.text("a\"b", 3);
    for (const char* line :
         {R"(mortise_events_total{name="a\"b",event="claimed"} 2)",
          R"(mortise_events_total{name="a\"b",event="lost"} 1)",
          R"(mortise_wait_seconds_bucket{name="a\"b",le="0.01"} 0)",
          R"(mortise_wait_seconds_bucket{name="a\"b",le="0.1"} 1)",
          R"(mortise_wait_seconds_bucket{name="a\"b",le="10"} 2)",
          R"(mortise_wait_seconds_bucket{name="a\"b",le="+Inf"} 2)", R"(mortise_wait_seconds_sum{name="a\"b"} 2.05)",
          R"(mortise_wait_seconds_count{name="a\"b"} 2)", R"(mortise_holds{name="a\"b"} 1)",
          R"(mortise_losses_total{name="a\"b"} 1)", R"(mortise_renewal_slack_seconds{name="a\"b"} 1.5)",
          R"(mortise_queue_depth{name="a\"b"} 3)"})
        EXPECT_THAT("\n" + page, HasSubstr("\n" + std::string(line) + "\n"));
    EXPECT_THAT(counts.text("x", std::nullopt), Not(HasSubstr("queue_depth"))) << "not known, not said";
}

class metrics_of_a_command : public command_suite {
protected:
    static std::string fetch(std::uint16_t port) {
        const socket_handle peer = tcp_socket();
        const sockaddr_in at = loopback(port);
        std::string text;
        if (::connect(peer.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return text;
        const std::string ask = "GET /metrics HTTP/1.0\r\n\r\n";
        static_cast<void>(!::send(peer.fd(), ask.data(), ask.size(), MSG_NOSIGNAL));
        char some[4096];
        for (ssize_t size = 0; (size = ::recv(peer.fd(), some, sizeof some, 0)) > 0;)
            text.append(some, static_cast<std::size_t>(size));
        return text;
    }
};

TEST_F(metrics_of_a_command, can_be_asked_for_while_it_runs) {
    const std::uint16_t port = free_port();
    child holder = start({"run", "--metrics", std::to_string(port), "--lease", "2s", "x", "--", "sleep", "600"});
    ASSERT_TRUE(
        eventually([&] { return fetch(port).find("mortise_holds{name=\"x\"} 1\n") != std::string::npos; }, 60s));
    child waiter = start({"run", "x", "--", "true"});
    EXPECT_TRUE(eventually(
        [&] {
            const std::string page = fetch(port);
            return page.find("mortise_queue_depth{name=\"x\"} 1\n") != page.npos &&
                   (page.find("mortise_renewal_slack_seconds{name=\"x\"} 0.") != page.npos ||
                    page.find("mortise_renewal_slack_seconds{name=\"x\"} 1.") != page.npos);
        },
        60s))
        << fetch(port);
    EXPECT_THAT(fetch(port), AllOf(HasSubstr("HTTP/1.0 200 OK\r\n"), HasSubstr("mortise_holds{name=\"x\"} 1\n"),
                                   HasSubstr("mortise_losses_total{name=\"x\"} 0\n")));
    const outcome taken = mortise({"run", "--metrics", std::to_string(port), "y", "--", "true"});
    EXPECT_EQ(taken.code, 69);
    EXPECT_THAT(taken.err, HasSubstr("choose another port"));
    holder.tell(SIGTERM);
    EXPECT_EQ(holder.wait(), 143);
    EXPECT_EQ(waiter.wait(), 0);
    EXPECT_EQ(fetch(port), "") << "gone with the command";
}

}  // namespace
}  // namespace command
