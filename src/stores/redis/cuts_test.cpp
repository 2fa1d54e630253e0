// Connections that end at any byte: what was asked has happened or not, and the client finds out which.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/suite.hpp"

#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::tcp_proxy;
using mortise::testing::way;

class redis_cuts : public on_one_server {
protected:
    // A client behind a proxy that takes a name and gives it back.
    class user {
    public:
        user(redis_cuts& home, int number)
            : home_(home),
              name_("x" + std::to_string(number)),
              locks_(home.url(proxy_.port()), {.release_wait = 20s}) {}

        void take() {
            attempt got = locks_.try_acquire(name_);
            ASSERT_TRUE(got) << got.refusal().describe();
            mine_ = *std::move(got);
            const auto seen = home_.held(name_);
            ASSERT_EQ(seen.size(), 1u) << "the server knows nothing of it";
            EXPECT_EQ(seen.front().holder.token, mine_.token());
            EXPECT_GT(mine_.token(), last_);
            last_ = mine_.token();
        }
        void give_back() {
            EXPECT_EQ(mine_.release(), release_result::released);
            EXPECT_TRUE(home_.held(name_).empty()) << "left behind";
        }

        std::size_t length(way which, const std::function<void()>& step) {
            const std::size_t before = proxy_.bytes_seen(which);
            step();
            return proxy_.bytes_seen(which) - before;
        }
        void cut_at(way which, std::size_t byte, const std::function<void()>& step) {
            const std::size_t before = proxy_.connected();
            proxy_.cut_after(which, byte);
            step();
            EXPECT_TRUE(eventually([&] { return proxy_.connected() > before; })) << "nothing was cut";
        }

    private:
        redis_cuts& home_;
        tcp_proxy proxy_{home_.node().port()};
        const std::string name_;
        client locks_;
        hold mine_;
        token last_{};
    };

    // Cuts either the claim or the release, at every byte of one way. Several users share the bytes among them: most of the
    // time is spent on connecting again.
    void cut_everywhere(way which, bool claims) {
        constexpr int crowd = 8;
        std::vector<std::thread> crew;
        for (int i = 0; i < crowd; ++i)
            crew.emplace_back([this, i, which, claims] {
                user one{*this, i};
                for (int round = 0; round < 2; ++round) {  // until the server has been sent every script
                    one.take();
                    one.give_back();
                }
                const auto take = [&] { one.take(); };
                const auto give_back = [&] { one.give_back(); };
                std::size_t length = claims ? one.length(which, take) : (take(), one.length(which, give_back));
                if (claims) one.give_back();
                EXPECT_GT(length, 0u);
                for (std::size_t byte = 1 + static_cast<std::size_t>(i); byte <= length && !HasFailure();
                     byte += crowd) {
                    SCOPED_TRACE("after byte " + std::to_string(byte) + " of " + std::to_string(length));
                    if (claims) {
                        one.cut_at(which, byte, take);
                        one.give_back();
                    } else {
                        one.take();
                        one.cut_at(which, byte, give_back);
                    }
                }
            });
        for (std::thread& one : crew) one.join();
    }
};

TEST_F(redis_cuts, a_claim_that_is_cut_on_its_way_is_granted_once) {
    cut_everywhere(way::to_server, true);
}

TEST_F(redis_cuts, a_claim_whose_answer_is_cut_is_granted_once) {
    cut_everywhere(way::to_client, true);
}

TEST_F(redis_cuts, a_release_that_is_cut_on_its_way_is_repeated) {
    cut_everywhere(way::to_server, false);
}

TEST_F(redis_cuts, a_release_whose_answer_is_cut_is_answered_as_the_first_was) {
    cut_everywhere(way::to_client, false);
}

}  // namespace
}  // namespace mortise::stores::redis::servers
