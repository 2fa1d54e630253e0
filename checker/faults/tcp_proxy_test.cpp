// The bad network does what it says: each verb, seen from both ends.
#include "checker/faults/tcp_proxy.hpp"

#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/time.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// What does not come within 20 s does not come.
void be_patient(const socket_handle& with) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(with.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

// One end of a connection.
class end {
public:
    explicit end(socket_handle made) : socket_(std::move(made)) { be_patient(socket_); }
    static end to(std::uint16_t port) {
        socket_handle made = tcp_socket();
        const sockaddr_in at = loopback(port);
        if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) made.close();
        return end{std::move(made)};
    }
    bool connected() const { return static_cast<bool>(socket_); }

    void say(const std::string& text) {
        EXPECT_EQ(::send(socket_.fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    // So many bytes, or as many as come before the end.
    std::string hear(std::size_t size) {
        std::string heard(size, '\0');
        std::size_t got = 0;
        while (got < size) {
            const ssize_t n = ::recv(socket_.fd(), heard.data() + got, size - got, 0);
            EXPECT_FALSE(n < 0 && errno == EAGAIN) << "waited for nothing after " << got << " bytes";
            if (n <= 0) break;
            got += static_cast<std::size_t>(n);
        }
        heard.resize(got);
        return heard;
    }
    // Whether nothing more comes because the other end is gone.
    bool over() {
        char more = 0;
        const ssize_t n = ::recv(socket_.fd(), &more, 1, 0);
        return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    }
    bool silent(std::chrono::milliseconds during) const {
        pollfd readable{socket_.fd(), POLLIN, 0};
        return ::poll(&readable, 1, static_cast<int>(during.count())) == 0;
    }
    void finish() { ::shutdown(socket_.fd(), SHUT_WR); }
    void leave() { socket_.close(); }

private:
    socket_handle socket_;
};

class tcp_proxy_suite : public ::testing::Test {
protected:
    static end taken(const socket_handle& listener) {
        be_patient(listener);
        return end{socket_handle{::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)}};
    }
    end taken() { return taken(server_); }

    const std::uint16_t server_port_ = free_port();
    socket_handle server_ = listener_at(server_port_);
    tcp_proxy proxy_{server_port_};
};

TEST_F(tcp_proxy_suite, passes_everything_in_order_both_ways) {
    end client = end::to(proxy_.port());
    end server = taken();
    std::string much;
    for (int i = 0; i < 100'000; ++i) much += std::to_string(i) + ',';
    std::thread sender{[&] { client.say(much); }};
    EXPECT_EQ(server.hear(much.size()), much);
    sender.join();
    server.say("thanks");
    EXPECT_EQ(client.hear(6), "thanks");
    EXPECT_EQ(proxy_.bytes_seen(way::to_server), much.size());
    EXPECT_EQ(proxy_.bytes_seen(way::to_client), 6u);
    EXPECT_EQ(proxy_.connections(), 1u);
}

TEST_F(tcp_proxy_suite, an_end_that_finished_can_still_hear) {
    end client = end::to(proxy_.port());
    end server = taken();
    client.say("last words");
    client.finish();
    EXPECT_EQ(server.hear(100), "last words");
    server.say("answer");
    server.leave();
    EXPECT_EQ(client.hear(100), "answer");
    EXPECT_TRUE(client.over());
    EXPECT_TRUE(eventually([&] { return proxy_.connections() == 0; }));
}

TEST_F(tcp_proxy_suite, a_server_that_is_not_there_ends_the_connection) {
    server_.close();
    end client = end::to(proxy_.port());
    ASSERT_TRUE(client.connected());
    EXPECT_TRUE(client.over());
    EXPECT_TRUE(eventually([&] { return proxy_.connections() == 0; }));
}

TEST_F(tcp_proxy_suite, cut_ends_all_connections_and_no_later_one) {
    end one = end::to(proxy_.port());
    end two = end::to(proxy_.port());
    end server_of_one = taken();
    end server_of_two = taken();
    one.say("x");
    EXPECT_EQ(server_of_one.hear(1), "x");
    two.say("x");
    EXPECT_EQ(server_of_two.hear(1), "x");
    proxy_.cut();
    for (end* each : {&one, &two, &server_of_one, &server_of_two}) EXPECT_TRUE(each->over());
    EXPECT_EQ(proxy_.connections(), 0u);
    end three = end::to(proxy_.port());
    end server_of_three = taken();
    three.say("still here");
    EXPECT_EQ(server_of_three.hear(10), "still here");
    EXPECT_EQ(proxy_.connected(), 3u);
}

TEST_F(tcp_proxy_suite, cut_after_some_bytes_delivers_those_and_ends_once) {
    for (const way which : {way::to_server, way::to_client}) {
        end client = end::to(proxy_.port());
        end server = taken();
        end& speaker = which == way::to_server ? client : server;
        end& hearer = which == way::to_server ? server : client;
        proxy_.cut_after(which, 10);
        speaker.say("four");
        EXPECT_EQ(hearer.hear(4), "four");
        speaker.say("and six that are too many");
        EXPECT_EQ(hearer.hear(100), "and si");
        EXPECT_TRUE(speaker.over());

        end again = end::to(proxy_.port());
        end server_again = taken();
        again.say("more than ten bytes");
        EXPECT_EQ(server_again.hear(19), "more than ten bytes");
        server_again.say("more than ten bytes");
        EXPECT_EQ(again.hear(19), "more than ten bytes");
    }
}

TEST_F(tcp_proxy_suite, cut_after_nothing_loses_an_answer_whose_question_arrived) {
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.cut_after(way::to_client, 0);
    client.say("question");
    EXPECT_EQ(server.hear(8), "question");
    server.say("answer");
    EXPECT_EQ(client.hear(100), "");
    EXPECT_TRUE(server.over());
}

TEST_F(tcp_proxy_suite, swallow_takes_one_way_and_leaves_the_other) {
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.swallow(way::to_client);
    server.say("lost");
    client.say("arrives");
    EXPECT_EQ(server.hear(7), "arrives");
    EXPECT_TRUE(eventually([&] { return proxy_.bytes_seen(way::to_client) == 4; }));
    proxy_.swallow(way::to_client, false);
    server.say("found");
    EXPECT_EQ(client.hear(5), "found");
}

TEST_F(tcp_proxy_suite, delay_holds_one_way_back_and_keeps_the_order) {
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.delay(way::to_server, 200ms);
    const auto begun = std::chrono::steady_clock::now();
    client.say("late");
    server.say("at once");
    EXPECT_EQ(client.hear(7), "at once");
    EXPECT_TRUE(eventually([&] { return proxy_.bytes_seen(way::to_server) == 4; }));
    proxy_.delay(way::to_server, 0ms);
    client.say(", later");
    EXPECT_EQ(server.hear(11), "late, later");
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 200ms);
}

// Nothing else happens that would make it look again.
TEST_F(tcp_proxy_suite, a_short_delay_ends_by_itself) {
    end client = end::to(proxy_.port());
    end server = taken();
    for (int turn = 0; turn < 3000 && !HasFailure(); ++turn) {
        if (turn % 100 == 0) proxy_.delay(way::to_server, std::chrono::microseconds{1 + turn / 100});
        client.say("x");
        EXPECT_EQ(server.hear(1), "x");
    }
}

TEST_F(tcp_proxy_suite, freeze_stops_everything_and_thaw_loses_nothing) {
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.freeze();
    client.say("held");
    server.say("back");
    end late = end::to(proxy_.port());
    EXPECT_TRUE(late.connected());
    EXPECT_TRUE(server.silent(100ms));
    EXPECT_TRUE(client.silent(100ms));
    EXPECT_EQ(proxy_.connections(), 1u);
    proxy_.thaw();
    EXPECT_EQ(server.hear(4), "held");
    EXPECT_EQ(client.hear(4), "back");
    end server_of_late = taken();
    late.say("too");
    EXPECT_EQ(server_of_late.hear(3), "too");
}

TEST_F(tcp_proxy_suite, refuse_turns_new_ones_away_and_spares_the_others) {
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.refuse();
    EXPECT_FALSE(end::to(proxy_.port()).connected());
    client.say("spared");
    EXPECT_EQ(server.hear(6), "spared");
    proxy_.accept();
    EXPECT_TRUE(end::to(proxy_.port()).connected());
}

TEST_F(tcp_proxy_suite, lead_to_another_server_concerns_new_connections) {
    const std::uint16_t other_port = free_port();
    const socket_handle other = listener_at(other_port);
    end client = end::to(proxy_.port());
    end server = taken();
    proxy_.lead_to(other_port);
    end second = end::to(proxy_.port());
    end elsewhere = taken(other);
    second.say("b");
    client.say("a");
    EXPECT_EQ(elsewhere.hear(1), "b");
    EXPECT_EQ(server.hear(1), "a");
}

TEST_F(tcp_proxy_suite, goes_while_frozen_and_while_bytes_wait) {
    end client = end::to(proxy_.port());
    end server = taken();
    {
        tcp_proxy other{server_port_};
        end second = end::to(other.port());
        other.delay(way::to_server, 60s);
        second.say("never");
        other.freeze();
    }
    client.say("x");
    EXPECT_EQ(server.hear(1), "x");
}

}  // namespace
}  // namespace mortise::testing
